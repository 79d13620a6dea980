// The contract of a child towards its parent: a two-phase handshake that survives a bad start. The node proof shares it
// (assumed of children, asserted of the node itself) with the link proof, so that trees compose.
//
//     live    the child has been started: its level no longer is a dead job's
//     begun   the job runs: every device of the tree has been started and every link has settled
//
// Not live: the level may only move to `down` (the write-back). Live: it may only move away from `down` (arrive), only
// once the job has begun, and then stays until released. A child turns live with its level at `down`.
module f_child (
    input  wire clk,
    input  wire begun,
    input  wire live,
    input  wire level,
    input  wire down,
    output wire ok
);
    reg first = 1'b1;
    reg was_begun, was_live, was_level, was_down;
    always @(posedge clk) begin
        first <= 1'b0;
        {was_begun, was_live, was_level, was_down} <= {begun, live, level, down};
    end
    wire moved = level != was_level;
    assign ok = first ? !live || level == down : ((!was_live || live) && (!was_begun || begun)
        && (!moved || (was_live ? was_begun && was_level == was_down : level == was_down))
        && (was_live || !live || level == was_down));
endmodule
