// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {CommitmentPreimage, Railgun, ShieldCiphertext, ShieldRequest, TokenData} from "./Railgun.sol";
import {SafeToken} from "./SafeToken.sol";

/// Takes one token on one chain for swaps that leave it, and pays out swaps that arrive.
///
/// Who sees a Swap event and calls settle on another chain, with which amounts, is the operator's affair: the pool
/// trusts it for everything but paying one settlement twice. There is no refund of a swap that is never settled.
///
/// Configuration: operator (slot 0), token (slot 1), treasury (slot 2), railgun (slot 3, zero where there is none).
contract Pool {
    address private constant NATIVE = 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE;
    uint8 private constant TO_ADDRESS = 0; // the recipient is 20 bytes
    uint8 private constant TO_SHIELD = 2; // the recipient is abi.encode(npk, encryptedBundle, shieldKey)

    struct Settlement {
        bytes32 id; // whatever names the swap to the operator
        address token;
        uint256 amount;
        bytes recipient;
        uint8 recipientType;
        uint256 protocolFee;
        address integrator;
        uint256 integratorFee;
    }

    address public operator;
    address public token;
    address public treasury;
    Railgun public railgun;

    uint256 public swaps;
    mapping(bytes32 id => bool) public settled;

    event Swap(
        uint256 indexed nonce,
        address indexed sender,
        uint256 dstChainId,
        uint256 amount,
        bytes recipient,
        uint8 recipientType,
        address dstToken,
        bytes32 integratorId
    );
    event Settled(bytes32 indexed id, Settlement settlement);

    /// Liquidity in the native coin.
    receive() external payable {}

    function swap(
        uint256 dstChainId,
        uint256 amount,
        bytes calldata recipient,
        uint8 recipientType,
        address dstToken,
        bytes32 integratorId
    ) external payable {
        require(amount > 0, "amount is zero");
        checkRecipient(recipient, recipientType);
        if (token == NATIVE) {
            require(msg.value == amount, "value is not the amount");
        } else {
            require(msg.value == 0, "value with an ERC-20");
            SafeToken.pull(token, msg.sender, address(this), amount);
        }
        emit Swap(swaps++, msg.sender, dstChainId, amount, recipient, recipientType, dstToken, integratorId);
    }

    function settle(Settlement calldata s) external {
        require(msg.sender == operator, "caller is not the operator");
        require(!settled[s.id], "already settled");
        settled[s.id] = true;
        require(s.amount > 0, "amount is zero");
        checkRecipient(s.recipient, s.recipientType);

        if (s.recipientType == TO_SHIELD) {
            shield(s.token, s.amount, s.recipient);
        } else {
            pay(s.token, address(bytes20(s.recipient)), s.amount);
        }
        pay(s.token, treasury, s.protocolFee);
        pay(s.token, s.integrator, s.integratorFee);
        emit Settled(s.id, s);
    }

    function checkRecipient(bytes calldata recipient, uint8 recipientType) private pure {
        require(recipientType == TO_ADDRESS || recipientType == TO_SHIELD, "unknown recipient type");
        require(recipient.length == (recipientType == TO_SHIELD ? 160 : 20), "recipient has the wrong length");
    }

    function pay(address asset, address to, uint256 amount) private {
        if (amount == 0) return;
        require(to != address(0), "payment to zero");
        if (asset == NATIVE) {
            (bool ok, ) = to.call{value: amount}("");
            require(ok, "payment refused");
        } else {
            SafeToken.push(asset, to, amount);
        }
    }

    function shield(address asset, uint256 amount, bytes calldata recipient) private {
        require(address(railgun) != address(0), "no RAILGUN on this chain");
        require(asset != NATIVE, "only an ERC-20 can be shielded");
        require(amount <= type(uint120).max, "amount does not fit a note");
        (bytes32 npk, bytes32[3] memory encryptedBundle, bytes32 shieldKey) = abi.decode(
            recipient,
            (bytes32, bytes32[3], bytes32)
        );
        ShieldRequest[] memory requests = new ShieldRequest[](1);
        requests[0].preimage = CommitmentPreimage(npk, TokenData(0, asset, 0), uint120(amount));
        requests[0].ciphertext = ShieldCiphertext(encryptedBundle, shieldKey);
        SafeToken.approve(asset, address(railgun), amount);
        railgun.shield(requests);
    }
}
