// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ledger} from "./Ledger.sol";

/// A standard ERC-20, standing for USDC, WETH and every other token that keeps to the standard.
///
/// It has none of what the issuers add: no permit, no pause, no deny list, and as WETH no deposit or withdraw, for
/// nothing in a quote wraps ether.
contract Token is Ledger {
    function transfer(address to, uint256 amount) external returns (bool) {
        move(msg.sender, to, amount);
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        spend(from, amount);
        move(from, to, amount);
        return true;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allow(spender, amount);
        return true;
    }
}
