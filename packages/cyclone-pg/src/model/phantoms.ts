/** Keys of properties that exist in types only, so that nothing of ours shows up where members are completed. */
export declare const INPUT: unique symbol;
export declare const OUTPUT: unique symbol;
export declare const HANDLER: unique symbol;
