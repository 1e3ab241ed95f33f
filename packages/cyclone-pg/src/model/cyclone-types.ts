/**
 * What a program may teach the types; empty until it does, by
 * `declare module "cyclone-pg" { interface CycloneTypes { queues: "default" | "db" } }`.
 * - `queues` makes queue names a closed set (free texts otherwise).
 */
// oxlint-disable-next-line typescript/no-empty-object-type -- filled by declaration merging
export interface CycloneTypes {}

/** A queue's name: any text, or the set that {@link CycloneTypes} names. */
export type QueueName = CycloneTypes extends { queues: infer Q extends string } ? Q : string;
