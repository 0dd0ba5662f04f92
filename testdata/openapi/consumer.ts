// Uses the types that three generators make of the contract of v3, as an app would: what is settled has a settlement, every
// state is handled, and a misspelt name does not compile.
import type { Details as HeyDetails, KnownErrorCode as HeyErrorCode, RouteType as HeyRouteType, Status as HeyStatus } from "./openapi-ts-v3/index";
import type { Details as OrvalDetails, KnownErrorCode as OrvalErrorCode, RouteType as OrvalRouteType, Status as OrvalStatus } from "./orval-v3";
import type { components } from "./v3";

type Schemas = components["schemas"];
type Status = Schemas["Status"] | OrvalStatus | HeyStatus;
type OneOfSwaps = NonNullable<Status["swaps"]>[number];
type CallStatus = NonNullable<(Schemas["Details"] | OrvalDetails | HeyDetails)["simulation"]>["calls"][number]["status"];

export function received(status: Status | OneOfSwaps): string {
  switch (status.state) {
    case "SETTLED":
      return status.settlement.arrived;
    case "FAILED":
    case "NOT_A_SWAP":
      return status.reason ?? "nothing was swapped";
    case "NOT_FOUND":
    case "PENDING":
    case "SETTLING":
      // @ts-expect-error: only what is settled has one
      return status.settlement ?? "not yet";
    default:
      return status satisfies never;
  }
}

export function succeeds(status: CallStatus): boolean {
  switch (status) {
    case "SUCCESS":
      return true;
    case "FAILED":
    case "UNPROVEN":
      return false;
    default:
      return status satisfies never;
  }
}

export const routes: [Schemas["RouteType"], OrvalRouteType, HeyRouteType] = ["DIRECT", "CCTP_INBOUND", "DIRECT"];
// @ts-expect-error: misspelt
export const first: Schemas["RouteType"] = "CCTP_INBOND";
// @ts-expect-error: misspelt
export const second: OrvalRouteType = "CCTP_INBOND";
// @ts-expect-error: misspelt
export const third: HeyRouteType = "CCTP_INBOND";

// Codes may be added: any text is one, and those of this release have names.
export const added: Schemas["ErrorCode"] = "ADDED_LATER";
export const known: [Schemas["KnownErrorCode"], OrvalErrorCode, HeyErrorCode] = ["RATE_LIMITED", "INTERNAL", "NOT_FOUND"];
// @ts-expect-error: misspelt
export const misspelt: Schemas["KnownErrorCode"] = "RATE_LIMITTED";
