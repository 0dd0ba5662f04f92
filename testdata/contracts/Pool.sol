// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {CommitmentPreimage, Railgun, ShieldCiphertext, ShieldRequest, TokenData} from "./Railgun.sol";
import {SafeToken} from "./SafeToken.sol";
import {TokenMessengerV2} from "./TokenMessengerV2.sol";

/// Arbitrum's system contract. On chains of that kind block.number is a block of the parent chain.
interface ArbSys {
    function arbBlockNumber() external view returns (uint256);
}

/// Takes one token on one chain for swaps that leave it, and pays out swaps that arrive.
///
/// Who sees a Swap event and calls settle on another chain, with which amounts, is the operator's affair: the pool
/// trusts it for everything but paying one settlement twice. There is no refund of a swap that is never settled.
///
/// A settlement's id follows from what was paid on the source, so anyone who saw that can compute the id and look up
/// here in which block it was settled.
///
/// Configuration: operator (slot 0), token (slot 1), treasury (slot 2), railgun (slot 3, zero where there is none),
/// messenger (slot 4, zero where nothing is sent on to other chains).
contract Pool {
    address private constant NATIVE = 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE;
    uint8 private constant TO_ADDRESS = 0; // the recipient is 20 bytes
    uint8 private constant TO_SHIELD = 2; // the recipient is abi.encode(npk, encryptedBundle, shieldKey)

    address private constant ARB_SYS = address(0x64);
    uint32 private constant FINALIZED = 2000; // the issuer's slow transfer, which is free

    struct Settlement {
        uint256 source; // the chain ID of srcPool; of a burn, the issuer's domain
        address srcPool; // which emitted Swap; zero for a burn
        uint256 nonce; // of the Swap event; of a burn, that of the attested message
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
    TokenMessengerV2 public messenger;

    uint256 public swaps;
    mapping(bytes32 id => uint256 blockNumber) public settled; // 0 until it is settled

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

    /// Names a swap: the chain and the pool that emitted its Swap event, and the event's nonce.
    function swapId(uint256 srcChainId, address srcPool, uint256 nonce) public pure returns (bytes32) {
        return keccak256(abi.encode(srcChainId, srcPool, nonce));
    }

    /// Names a burn: the domain and the nonce of its attested message. A message that is signed again keeps both.
    function burnId(uint256 sourceDomain, bytes32 nonce) public pure returns (bytes32) {
        return keccak256(abi.encode(sourceDomain, nonce));
    }

    /// Pays on this chain.
    function settle(Settlement calldata s) external {
        bytes32 id = begin(s);
        if (s.recipientType == TO_SHIELD) {
            shield(s.token, s.amount, s.recipient);
        } else {
            pay(s.token, address(bytes20(s.recipient)), s.amount);
        }
        finish(id, s);
    }

    /// Pays an address on a chain that has no pool: the amount is burnt here, and the issuer mints it there. The hook of
    /// the burn is the id.
    function settleOnward(Settlement calldata s, uint32 domain) external {
        bytes32 id = begin(s);
        require(address(messenger) != address(0), "no messenger on this chain");
        require(s.recipientType == TO_ADDRESS, "only an address can be paid on another chain");
        SafeToken.approve(s.token, address(messenger), s.amount);
        messenger.depositForBurnWithHook(
            s.amount,
            domain,
            bytes32(uint256(uint160(bytes20(s.recipient)))),
            s.token,
            0, // anyone may deliver it
            0,
            FINALIZED,
            abi.encodePacked(id)
        );
        finish(id, s);
    }

    function begin(Settlement calldata s) private returns (bytes32 id) {
        require(msg.sender == operator, "caller is not the operator");
        id = s.srcPool == address(0) ? burnId(s.source, bytes32(s.nonce)) : swapId(s.source, s.srcPool, s.nonce);
        require(settled[id] == 0, "already settled");
        settled[id] = currentBlock();
        require(s.amount > 0, "amount is zero");
        checkRecipient(s.recipient, s.recipientType);
    }

    /// The block as eth_getLogs counts it.
    function currentBlock() private view returns (uint256) {
        return ARB_SYS.code.length > 0 ? ArbSys(ARB_SYS).arbBlockNumber() : block.number;
    }

    function finish(bytes32 id, Settlement calldata s) private {
        pay(s.token, treasury, s.protocolFee);
        pay(s.token, s.integrator, s.integratorFee);
        emit Settled(id, s);
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
