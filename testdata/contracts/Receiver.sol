// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Token} from "./Token.sol";

/// Where burnt tokens arrive on the settlement chain, and where the swap they belong to is read from the hook.
///
/// It stands for three contracts: the service's own receiver, the message transmitter that checks the attestation (here
/// one signature), and the minter. So it takes the attester's word that the burn was of the right token by the right
/// messenger, and mints the executed fee to nobody. A hook that names no possible recipient reverts. What happens to
/// the tokens next is the operator's affair.
///
/// Configuration: attester (slot 0); token, which must let this contract mint, and localDomain (slot 1, packed in that
/// order from the right).
contract Receiver {
    struct Hook {
        uint256 dstChainId;
        address dstToken;
        bytes32 integratorId;
        uint8 recipientType;
        bytes recipient;
    }

    address public attester;
    address public token;
    uint32 public localDomain;

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
        require(signer(keccak256(message), attestation) == attester, "Invalid signature: not attester");
        require(message.length >= 376, "Invalid message: too short");

        // Header: version 4, source domain 4, destination domain 4, nonce 32, sender 32, recipient 32,
        // destination caller 32, minimum finality 4, executed finality 4.
        require(bytes4(message[0:4]) == bytes4(uint32(1)), "Invalid message version");
        require(uint32(bytes4(message[8:12])) == localDomain, "Invalid destination domain");
        require(bytes32(message[108:140]) == word(address(this)), "Invalid caller for message");
        bytes32 nonce = bytes32(message[12:44]);
        require(!usedNonces[nonce], "Nonce already used");
        usedNonces[nonce] = true;

        mint(nonce, uint32(bytes4(message[4:8])), message[148:]);
        return true;
    }

    // Body: version 4, burn token 32, mint recipient 32, amount 32, depositor 32, maximum fee 32, executed fee 32,
    // expiration block 32, hook.
    function mint(bytes32 nonce, uint32 sourceDomain, bytes calldata body) private {
        require(bytes4(body[0:4]) == bytes4(uint32(1)), "Invalid message body version");
        require(bytes32(body[36:68]) == word(address(this)), "minted to another");
        uint256 amount = uint256(bytes32(body[68:100]));
        uint256 fee = uint256(bytes32(body[164:196]));
        require(fee < amount, "Fee equals or exceeds amount");
        require(fee <= uint256(bytes32(body[132:164])), "Fee exceeds max fee");
        uint256 expiration = uint256(bytes32(body[196:228]));
        require(expiration == 0 || expiration > block.number, "Message expired and must be re-signed");

        Token(token).mint(address(this), amount - fee);
        emit Received(nonce, sourceDomain, bytes32(body[100:132]), amount - fee, fee, decode(body[228:]));
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

    function signer(bytes32 digest, bytes calldata signature) private pure returns (address) {
        require(signature.length == 65, "Invalid attestation length");
        address account = ecrecover(digest, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
        require(account != address(0), "Invalid signature");
        return account;
    }

    function word(address account) private pure returns (bytes32) {
        return bytes32(uint256(uint160(account)));
    }
}
