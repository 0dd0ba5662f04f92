// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Who earns a fee for bringing swaps to this chain's pools, and how much.
///
/// It puts no cap on a fee, so that readers can be shown one that is out of bounds. Integrators cannot manage their
/// own entry: the operator does.
///
/// Configuration: operator (slot 0).
contract IntegratorRegistry {
    struct Integrator {
        address wallet;
        uint16 feeBps;
        bool active;
    }

    address public operator;
    mapping(bytes32 id => Integrator) private integrators;

    event Registered(bytes32 indexed id, address wallet, uint16 feeBps);
    event FeeSet(bytes32 indexed id, uint16 feeBps);
    event ActiveSet(bytes32 indexed id, bool active);

    modifier onlyOperator() {
        require(msg.sender == operator, "caller is not the operator");
        _;
    }

    /// A zero wallet means that nobody is registered under this id.
    function getIntegrator(bytes32 id) external view returns (address wallet, uint16 feeBps, bool active) {
        Integrator storage i = integrators[id];
        return (i.wallet, i.feeBps, i.active);
    }

    /// Registers an active integrator under its wallet's address, left-padded to 32 bytes.
    function register(address wallet, uint16 feeBps) external onlyOperator returns (bytes32 id) {
        require(wallet != address(0), "wallet is zero");
        id = bytes32(uint256(uint160(wallet)));
        require(integrators[id].wallet == address(0), "already registered");
        integrators[id] = Integrator(wallet, feeBps, true);
        emit Registered(id, wallet, feeBps);
    }

    function setFee(bytes32 id, uint16 feeBps) external onlyOperator {
        registered(id).feeBps = feeBps;
        emit FeeSet(id, feeBps);
    }

    function setActive(bytes32 id, bool active) external onlyOperator {
        registered(id).active = active;
        emit ActiveSet(id, active);
    }

    function registered(bytes32 id) private view returns (Integrator storage i) {
        i = integrators[id];
        require(i.wallet != address(0), "not registered");
    }
}
