// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ledger} from "./Ledger.sol";

/// USDT as it is on Ethereum, where it departs from the standard: transfer, transferFrom and approve return nothing,
/// and an allowance that is not zero must be set to zero before it is set to anything else.
///
/// It has no transfer fee (the real one has the code, with the fee at zero), pause or blacklist.
contract TetherLikeToken is Ledger {
    function transfer(address to, uint256 amount) external {
        move(msg.sender, to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) external {
        spend(from, amount);
        move(from, to, amount);
    }

    function approve(address spender, uint256 amount) external {
        require(amount == 0 || allowance[msg.sender][spender] == 0, "allowance is not zero");
        allow(spender, amount);
    }
}
