// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The part that Token and TetherLikeToken share: balances, allowances, and who may create money.
///
/// Every allowance goes down as it is used, the largest one too.
///
/// Configuration: operator (slot 0), symbol (slot 1, under 32 bytes), decimals (slot 2), minters (slot 3).
abstract contract Ledger {
    address public operator;
    string public symbol;
    uint8 public decimals;
    mapping(address account => bool) public minters;

    uint256 public totalSupply;
    mapping(address account => uint256) public balanceOf;
    mapping(address owner => mapping(address spender => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    function name() external view returns (string memory) {
        return symbol;
    }

    /// A faucet for the operator; for a minter, the way tokens come in from another chain.
    function mint(address to, uint256 amount) external {
        require(msg.sender == operator || minters[msg.sender], "caller may not mint");
        require(to != address(0), "mint to zero");
        totalSupply += amount;
        balanceOf[to] += amount;
        emit Transfer(address(0), to, amount);
    }

    function burn(uint256 amount) external {
        require(balanceOf[msg.sender] >= amount, "balance too low");
        balanceOf[msg.sender] -= amount;
        totalSupply -= amount;
        emit Transfer(msg.sender, address(0), amount);
    }

    function move(address from, address to, uint256 amount) internal {
        require(to != address(0), "transfer to zero");
        require(balanceOf[from] >= amount, "balance too low");
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        emit Transfer(from, to, amount);
    }

    function spend(address owner, uint256 amount) internal {
        require(allowance[owner][msg.sender] >= amount, "allowance too low");
        allowance[owner][msg.sender] -= amount;
    }

    function allow(address spender, uint256 amount) internal {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
    }
}
