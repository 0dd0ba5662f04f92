// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Token} from "./Token.sol";

/// The part that Receiver and MessageTransmitterV2 share: a message is believed if the attester signed it, and mints what
/// it says, less the executed fee, which is minted to nobody.
///
/// Configuration: attester (slot 0); token, which must let this contract mint, and localDomain (slot 1, packed in that
/// order from the right).
abstract contract Attested {
    address public attester;
    address public token;
    uint32 public localDomain;

    // Header: version 4, source domain 4, destination domain 4, nonce 32, sender 32, recipient 32,
    // destination caller 32, minimum finality 4, executed finality 4.
    function checkHeader(bytes calldata message, bytes calldata attestation) internal view {
        require(signer(keccak256(message), attestation) == attester, "Invalid signature: not attester");
        require(message.length >= 376, "Invalid message: too short");
        require(bytes4(message[0:4]) == bytes4(uint32(1)), "Invalid message version");
        require(uint32(bytes4(message[8:12])) == localDomain, "Invalid destination domain");
    }

    // Body: version 4, burn token 32, mint recipient 32, amount 32, depositor 32, maximum fee 32, executed fee 32,
    // expiration block 32, hook.
    function mintBody(bytes calldata body) internal returns (uint256 amount, uint256 fee) {
        require(bytes4(body[0:4]) == bytes4(uint32(1)), "Invalid message body version");
        amount = uint256(bytes32(body[68:100]));
        fee = uint256(bytes32(body[164:196]));
        require(fee < amount, "Fee equals or exceeds amount");
        require(fee <= uint256(bytes32(body[132:164])), "Fee exceeds max fee");
        uint256 expiration = uint256(bytes32(body[196:228]));
        require(expiration == 0 || expiration > block.number, "Message expired and must be re-signed");
        amount -= fee;
        Token(token).mint(address(uint160(uint256(bytes32(body[36:68])))), amount);
    }

    function signer(bytes32 digest, bytes calldata signature) private pure returns (address) {
        require(signature.length == 65, "Invalid attestation length");
        address account = ecrecover(digest, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
        require(account != address(0), "Invalid signature");
        return account;
    }

    function word(address account) internal pure returns (bytes32) {
        return bytes32(uint256(uint160(account)));
    }
}
