// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Attested} from "./Attested.sol";

/// Where burnt tokens arrive on the settlement chain, and where the swap they belong to is read from the hook.
///
/// It stands for three contracts: the service's own receiver, the message transmitter that checks the attestation (here
/// one signature), and the minter. So it takes the attester's word that the burn was of the right token by the right
/// messenger, and mints the executed fee to nobody. A hook that names no possible recipient reverts. What happens to
/// the tokens next is the operator's affair.
///
/// Configuration: attester (slot 0); token, which must let this contract mint, and localDomain (slot 1, packed in that
/// order from the right).
contract Receiver is Attested {
    struct Hook {
        uint256 dstChainId;
        address dstToken;
        bytes32 integratorId;
        uint8 recipientType;
        bytes recipient;
    }

    mapping(bytes32 nonce => bool) public usedNonces;

    event Received(
        bytes32 indexed nonce,
        uint32 sourceDomain,
        bytes32 depositor,
        uint256 amount, // after the executed fee
        uint256 feeExecuted,
        Hook hook
    );

    function receiveMessage(bytes calldata message, bytes calldata attestation) external returns (bool) {
        checkHeader(message, attestation);
        require(bytes32(message[108:140]) == word(address(this)), "Invalid caller for message");
        bytes32 nonce = bytes32(message[12:44]);
        require(!usedNonces[nonce], "Nonce already used");
        usedNonces[nonce] = true;

        mint(nonce, uint32(bytes4(message[4:8])), message[148:]);
        return true;
    }

    function mint(bytes32 nonce, uint32 sourceDomain, bytes calldata body) private {
        require(bytes32(body[36:68]) == word(address(this)), "minted to another");
        (uint256 amount, uint256 fee) = mintBody(body);
        emit Received(nonce, sourceDomain, bytes32(body[100:132]), amount, fee, decode(body[228:]));
    }

    function decode(bytes calldata hook) private pure returns (Hook memory h) {
        require(hook.length > 85, "hook is too short");
        h.dstChainId = uint256(bytes32(hook[0:32]));
        h.dstToken = address(bytes20(hook[32:52]));
        h.integratorId = bytes32(hook[52:84]);
        h.recipientType = uint8(hook[84]);
        h.recipient = hook[85:];
        require(h.recipientType == 0 || h.recipientType == 2, "unknown recipient type");
        require(h.recipient.length == (h.recipientType == 2 ? 160 : 20), "recipient has the wrong length");
    }
}
