// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeToken} from "./SafeToken.sol";

struct TokenData {
    uint8 tokenType; // an enum in the real contract; 0 is ERC-20
    address tokenAddress;
    uint256 tokenSubID;
}

struct CommitmentPreimage {
    bytes32 npk;
    TokenData token;
    uint120 value;
}

struct ShieldCiphertext {
    bytes32[3] encryptedBundle;
    bytes32 shieldKey;
}

struct ShieldRequest {
    CommitmentPreimage preimage;
    ShieldCiphertext ciphertext;
}

/// The public side of RAILGUN's shield: what it demands of a note, whom it takes tokens from, and the event by which a
/// wallet finds its money.
///
/// It hashes nothing and keeps no Merkle tree (the event counts positions in tree 0), so nothing can be spent from it;
/// it takes ERC-20 only, has no blocklist, does not look for tokens that take a fee of their own, and its own is fixed.
///
/// Configuration: treasury (slot 0).
contract Railgun {
    uint256 private constant SNARK_SCALAR_FIELD =
        21888242871839275222246405745257275088548364400416034343698204186575808495617;

    address public treasury;
    uint256 public nextLeafIndex;

    uint256 public constant shieldFee = 25; // basis points

    event Shield(
        uint256 treeNumber,
        uint256 startPosition,
        CommitmentPreimage[] commitments,
        ShieldCiphertext[] shieldCiphertext,
        uint256[] fees
    );

    function shield(ShieldRequest[] calldata requests) external {
        CommitmentPreimage[] memory commitments = new CommitmentPreimage[](requests.length);
        ShieldCiphertext[] memory ciphertexts = new ShieldCiphertext[](requests.length);
        uint256[] memory fees = new uint256[](requests.length);

        for (uint256 i = 0; i < requests.length; i++) {
            commitments[i] = requests[i].preimage;
            ciphertexts[i] = requests[i].ciphertext;
            fees[i] = take(commitments[i]);
            commitments[i].value -= uint120(fees[i]);
        }

        emit Shield(0, nextLeafIndex, commitments, ciphertexts, fees);
        nextLeafIndex += requests.length;
    }

    /// Takes the note's value from the caller: the fee to the treasury, the rest to this contract.
    function take(CommitmentPreimage memory note) private returns (uint256 fee) {
        require(note.value > 0, "Invalid Note Value");
        require(uint256(note.npk) < SNARK_SCALAR_FIELD, "Invalid Note NPK");
        require(note.token.tokenType == 0, "only ERC-20 is modelled");

        address token = note.token.tokenAddress;
        fee = (uint256(note.value) * shieldFee) / 10000;
        SafeToken.pull(token, msg.sender, address(this), note.value - fee);
        SafeToken.pull(token, msg.sender, treasury, fee);
    }
}
