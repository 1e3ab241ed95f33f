import { defineAction, defineStep } from "cyclone-pg";

/** What a customer ordered. */
export interface Order {
  readonly id: string;
  readonly cents: number;
  readonly address: string;
  readonly email: string;
}

export interface Shipment {
  readonly trackingCode: string;
}

// Contracts: a shop that only submits orders needs these, and none of the code behind them.

/** Writes the charge into the ledger, a table of ours. */
export const charge = defineAction<{ orderId: string; cents: number }>("charge");

/** Has the order shipped by a service outside. */
export const ship = defineStep<{ orderId: string; address: string }, Shipment>("ship");

/** Tells the customer. */
export const mail = defineAction<{ to: string; orderId: string; trackingCode: string }>("mail");
