// Compiled from src/abi.js.
export const poolAbi = ([
	{
		type: 'function', name: 'swap', stateMutability: 'payable',
		inputs: [
			{ name: 'dstChainId', type: 'uint256' },
			{ name: 'amount', type: 'uint256' },
			{ name: 'recipient', type: 'bytes' },
			{ name: 'recipientType', type: 'uint8' },
			{ name: 'dstToken', type: 'address' },
			{ name: 'integratorId', type: 'bytes32' },
		],
		outputs: [],
	},
	{
		type: 'function', name: 'settled', stateMutability: 'view',
		inputs: [{ name: 'id', type: 'bytes32' }],
		outputs: [{ name: 'blockNumber', type: 'uint256' }],
	},
	{
		type: 'event', name: 'Swap', anonymous: false,
		inputs: [
			{ name: 'nonce', type: 'uint256', indexed: true },
			{ name: 'sender', type: 'address', indexed: true },
			{ name: 'dstChainId', type: 'uint256', indexed: false },
			{ name: 'amount', type: 'uint256', indexed: false },
			{ name: 'recipient', type: 'bytes', indexed: false },
			{ name: 'recipientType', type: 'uint8', indexed: false },
			{ name: 'dstToken', type: 'address', indexed: false },
			{ name: 'integratorId', type: 'bytes32', indexed: false },
		],
	},
	{
		type: 'event', name: 'Settled', anonymous: false,
		inputs: [
			{ name: 'id', type: 'bytes32', indexed: true },
			{
				name: 'settlement', type: 'tuple', indexed: false,
				components: [
					{ name: 'source', type: 'uint256' },
					{ name: 'srcPool', type: 'address' },
					{ name: 'nonce', type: 'uint256' },
					{ name: 'token', type: 'address' },
					{ name: 'amount', type: 'uint256' },
					{ name: 'recipient', type: 'bytes' },
					{ name: 'recipientType', type: 'uint8' },
					{ name: 'protocolFee', type: 'uint256' },
					{ name: 'integrator', type: 'address' },
					{ name: 'integratorFee', type: 'uint256' },
				],
			},
		],
	},
]);
export const messengerAbi = ([
	{
		type: 'function', name: 'depositForBurnWithHook', stateMutability: 'nonpayable',
		inputs: [
			{ name: 'amount', type: 'uint256' },
			{ name: 'destinationDomain', type: 'uint32' },
			{ name: 'mintRecipient', type: 'bytes32' },
			{ name: 'burnToken', type: 'address' },
			{ name: 'destinationCaller', type: 'bytes32' },
			{ name: 'maxFee', type: 'uint256' },
			{ name: 'minFinalityThreshold', type: 'uint32' },
			{ name: 'hookData', type: 'bytes' },
		],
		outputs: [],
	},
	{
		type: 'event', name: 'DepositForBurn', anonymous: false,
		inputs: [
			{ name: 'burnToken', type: 'address', indexed: true },
			{ name: 'amount', type: 'uint256', indexed: false },
			{ name: 'depositor', type: 'address', indexed: true },
			{ name: 'mintRecipient', type: 'bytes32', indexed: false },
			{ name: 'destinationDomain', type: 'uint32', indexed: false },
			{ name: 'destinationTokenMessenger', type: 'bytes32', indexed: false },
			{ name: 'destinationCaller', type: 'bytes32', indexed: false },
			{ name: 'maxFee', type: 'uint256', indexed: false },
			{ name: 'minFinalityThreshold', type: 'uint32', indexed: true },
			{ name: 'hookData', type: 'bytes', indexed: false },
		],
	},
]);
export const registryAbi = ([
	{
		type: 'function', name: 'getIntegrator', stateMutability: 'view',
		inputs: [{ name: 'id', type: 'bytes32' }],
		outputs: [
			{ name: 'wallet', type: 'address' },
			{ name: 'feeBps', type: 'uint16' },
			{ name: 'active', type: 'bool' },
		],
	},
]);
