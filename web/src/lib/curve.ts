/** A curve to draw. */
export interface Line {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** Ends of an interval about the values. */
  readonly low?: readonly (number | null)[];
  readonly high?: readonly (number | null)[];
  /** A bound, beside what is reached. */
  readonly dashed?: boolean;
}
