/**
 * A pool: `swap`, its event, and what the pool of the destination says of a payout.
 */
export const poolAbi: readonly [{
    readonly type: "function";
    readonly name: "swap";
    readonly stateMutability: "payable";
    readonly inputs: readonly [{
        readonly name: "dstChainId";
        readonly type: "uint256";
    }, {
        readonly name: "amount";
        readonly type: "uint256";
    }, {
        readonly name: "recipient";
        readonly type: "bytes";
    }, {
        readonly name: "recipientType";
        readonly type: "uint8";
    }, {
        readonly name: "dstToken";
        readonly type: "address";
    }, {
        readonly name: "integratorId";
        readonly type: "bytes32";
    }];
    readonly outputs: readonly [];
}, {
    readonly type: "function";
    readonly name: "settled";
    readonly stateMutability: "view";
    readonly inputs: readonly [{
        readonly name: "id";
        readonly type: "bytes32";
    }];
    readonly outputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }];
}, {
    readonly type: "event";
    readonly name: "Swap";
    readonly anonymous: false;
    readonly inputs: readonly [{
        readonly name: "nonce";
        readonly type: "uint256";
        readonly indexed: true;
    }, {
        readonly name: "sender";
        readonly type: "address";
        readonly indexed: true;
    }, {
        readonly name: "dstChainId";
        readonly type: "uint256";
        readonly indexed: false;
    }, {
        readonly name: "amount";
        readonly type: "uint256";
        readonly indexed: false;
    }, {
        readonly name: "recipient";
        readonly type: "bytes";
        readonly indexed: false;
    }, {
        readonly name: "recipientType";
        readonly type: "uint8";
        readonly indexed: false;
    }, {
        readonly name: "dstToken";
        readonly type: "address";
        readonly indexed: false;
    }, {
        readonly name: "integratorId";
        readonly type: "bytes32";
        readonly indexed: false;
    }];
}, {
    readonly type: "event";
    readonly name: "Settled";
    readonly anonymous: false;
    readonly inputs: readonly [{
        readonly name: "id";
        readonly type: "bytes32";
        readonly indexed: true;
    }, {
        readonly name: "settlement";
        readonly type: "tuple";
        readonly indexed: false;
        readonly components: readonly [{
            readonly name: "source";
            readonly type: "uint256";
        }, {
            readonly name: "srcPool";
            readonly type: "address";
        }, {
            readonly name: "nonce";
            readonly type: "uint256";
        }, {
            readonly name: "token";
            readonly type: "address";
        }, {
            readonly name: "amount";
            readonly type: "uint256";
        }, {
            readonly name: "recipient";
            readonly type: "bytes";
        }, {
            readonly name: "recipientType";
            readonly type: "uint8";
        }, {
            readonly name: "protocolFee";
            readonly type: "uint256";
        }, {
            readonly name: "integrator";
            readonly type: "address";
        }, {
            readonly name: "integratorFee";
            readonly type: "uint256";
        }];
    }];
}];
/**
 * The TokenMessengerV2 of the issuer of USDC: the burn of a `CCTP_INBOUND` swap, and its event.
 */
export const messengerAbi: readonly [{
    readonly type: "function";
    readonly name: "depositForBurnWithHook";
    readonly stateMutability: "nonpayable";
    readonly inputs: readonly [{
        readonly name: "amount";
        readonly type: "uint256";
    }, {
        readonly name: "destinationDomain";
        readonly type: "uint32";
    }, {
        readonly name: "mintRecipient";
        readonly type: "bytes32";
    }, {
        readonly name: "burnToken";
        readonly type: "address";
    }, {
        readonly name: "destinationCaller";
        readonly type: "bytes32";
    }, {
        readonly name: "maxFee";
        readonly type: "uint256";
    }, {
        readonly name: "minFinalityThreshold";
        readonly type: "uint32";
    }, {
        readonly name: "hookData";
        readonly type: "bytes";
    }];
    readonly outputs: readonly [];
}, {
    readonly type: "event";
    readonly name: "DepositForBurn";
    readonly anonymous: false;
    readonly inputs: readonly [{
        readonly name: "burnToken";
        readonly type: "address";
        readonly indexed: true;
    }, {
        readonly name: "amount";
        readonly type: "uint256";
        readonly indexed: false;
    }, {
        readonly name: "depositor";
        readonly type: "address";
        readonly indexed: true;
    }, {
        readonly name: "mintRecipient";
        readonly type: "bytes32";
        readonly indexed: false;
    }, {
        readonly name: "destinationDomain";
        readonly type: "uint32";
        readonly indexed: false;
    }, {
        readonly name: "destinationTokenMessenger";
        readonly type: "bytes32";
        readonly indexed: false;
    }, {
        readonly name: "destinationCaller";
        readonly type: "bytes32";
        readonly indexed: false;
    }, {
        readonly name: "maxFee";
        readonly type: "uint256";
        readonly indexed: false;
    }, {
        readonly name: "minFinalityThreshold";
        readonly type: "uint32";
        readonly indexed: true;
    }, {
        readonly name: "hookData";
        readonly type: "bytes";
        readonly indexed: false;
    }];
}];
/**
 * The registry of integrators: whom an ID pays, and its fee.
 */
export const registryAbi: readonly [{
    readonly type: "function";
    readonly name: "getIntegrator";
    readonly stateMutability: "view";
    readonly inputs: readonly [{
        readonly name: "id";
        readonly type: "bytes32";
    }];
    readonly outputs: readonly [{
        readonly name: "wallet";
        readonly type: "address";
    }, {
        readonly name: "feeBps";
        readonly type: "uint16";
    }, {
        readonly name: "active";
        readonly type: "bool";
    }];
}];
