// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeToken} from "./SafeToken.sol";
import {Token} from "./Token.sol";

/// The sending side of CCTP V2 for one token: the messenger's depositForBurnWithHook, with its refusals, and the message
/// transmitter's MessageSent, which the real messenger has another contract emit.
///
/// It leaves out burning without a hook, the burn limit, the deny list, pausing and the cap on the message's size. The
/// messengers of all chains are taken to share one address, as they do on EVM chains.
///
/// Configuration: token and localDomain (slot 0, packed in that order from the right), remoteDomains (slot 1).
contract TokenMessengerV2 {
    uint32 private constant VERSION = 1; // of the message and of its body

    address public token;
    uint32 public localDomain;
    mapping(uint32 domain => bool) public remoteDomains;

    event DepositForBurn(
        address indexed burnToken,
        uint256 amount,
        address indexed depositor,
        bytes32 mintRecipient,
        uint32 destinationDomain,
        bytes32 destinationTokenMessenger,
        bytes32 destinationCaller,
        uint256 maxFee,
        uint32 indexed minFinalityThreshold,
        bytes hookData
    );
    event MessageSent(bytes message);

    function depositForBurnWithHook(
        uint256 amount,
        uint32 destinationDomain,
        bytes32 mintRecipient,
        address burnToken,
        bytes32 destinationCaller,
        uint256 maxFee,
        uint32 minFinalityThreshold,
        bytes calldata hookData
    ) external {
        require(hookData.length > 0, "Hook data is empty");
        require(amount > 0, "Amount must be nonzero");
        require(mintRecipient != 0, "Mint recipient must be nonzero");
        require(maxFee < amount, "Max fee must be less than amount");
        require(remoteDomains[destinationDomain], "No TokenMessenger for domain");
        require(burnToken == token, "Burn token not supported");

        SafeToken.pull(burnToken, msg.sender, address(this), amount);
        Token(burnToken).burn(amount);

        // The attester fills in the fields that are zero here.
        bytes memory body = abi.encodePacked(
            VERSION,
            word(burnToken),
            mintRecipient,
            amount,
            word(msg.sender),
            maxFee,
            uint256(0), // feeExecuted
            uint256(0), // expirationBlock
            hookData
        );
        emit MessageSent(
            abi.encodePacked(
                VERSION,
                localDomain,
                destinationDomain,
                bytes32(0), // nonce
                word(address(this)), // sender
                word(address(this)), // recipient
                destinationCaller,
                minFinalityThreshold,
                uint32(0), // finalityThresholdExecuted
                body
            )
        );
        emit DepositForBurn(
            burnToken,
            amount,
            msg.sender,
            mintRecipient,
            destinationDomain,
            word(address(this)),
            destinationCaller,
            maxFee,
            minFinalityThreshold,
            hookData
        );
    }

    function word(address account) private pure returns (bytes32) {
        return bytes32(uint256(uint160(account)));
    }
}
