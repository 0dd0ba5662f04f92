// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Attested} from "./Attested.sol";

/// The receiving side of CCTP V2: the message transmitter's receiveMessage, which anyone may call, and the event by which
/// a delivery is found.
///
/// It stands for the messenger and the minter of its chain too, and takes the attester's word that the burn was of the
/// right token by the right messenger. It leaves out sending (TokenMessengerV2 here does it), several attesters, pausing
/// and the messenger's MintAndWithdraw.
contract MessageTransmitterV2 is Attested {
    mapping(bytes32 nonce => uint256) public usedNonces; // 1 once it is used

    event MessageReceived(
        address indexed caller,
        uint32 sourceDomain,
        bytes32 indexed nonce,
        bytes32 sender,
        uint32 indexed finalityThresholdExecuted,
        bytes messageBody
    );

    function receiveMessage(bytes calldata message, bytes calldata attestation) external returns (bool) {
        checkHeader(message, attestation);
        bytes32 caller = bytes32(message[108:140]);
        require(caller == 0 || caller == word(msg.sender), "Invalid caller for message");
        bytes32 nonce = bytes32(message[12:44]);
        require(usedNonces[nonce] == 0, "Nonce already used");
        usedNonces[nonce] = 1;

        mintBody(message[148:]);
        emit MessageReceived(
            msg.sender,
            uint32(bytes4(message[4:8])),
            nonce,
            bytes32(message[44:76]),
            uint32(bytes4(message[144:148])),
            message[148:]
        );
        return true;
    }
}
