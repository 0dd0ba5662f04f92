// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Moves ERC-20 tokens whether they answer true, as the standard says, or nothing at all, as USDT does.
library SafeToken {
    function push(address token, address to, uint256 amount) internal {
        call(token, abi.encodeWithSignature("transfer(address,uint256)", to, amount));
    }

    function pull(address token, address from, address to, uint256 amount) internal {
        call(token, abi.encodeWithSignature("transferFrom(address,address,uint256)", from, to, amount));
    }

    function approve(address token, address spender, uint256 amount) internal {
        call(token, abi.encodeWithSignature("approve(address,uint256)", spender, amount));
    }

    function call(address token, bytes memory data) private {
        require(token.code.length > 0, "token has no code");
        (bool ok, bytes memory answer) = token.call(data);
        if (!ok) {
            assembly {
                revert(add(answer, 32), mload(answer))
            }
        }
        require(answer.length == 0 || abi.decode(answer, (bool)), "token answered false");
    }
}
