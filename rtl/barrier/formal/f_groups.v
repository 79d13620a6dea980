// Groups selected by wires, against software ranks at any speed, ports that a dead job left at any level, and any
// memory. No port is released before every member of its group has arrived at that very group. Once the last has, all
// are released within 2P clocks and the time of a write of another group.
module f_groups #(parameter P = 3, parameter BITS = 1) (input wire clk);
    localparam G = 2 ** BITS;
    localparam BOUND = 2 * P + 2;
    (* anyconst *) wire [G*P-1:0] member;         // of each group, fixed for the job
    (* anyseq *) wire [P*BITS-1:0] choose;
    (* anyseq *) wire [P-1:0] go;
    (* anyseq *) wire begin_now;
    wire [P-1:0] released;
    wire busy;

    // The launcher writes all groups, one after the other; then the job may begin, at any time.
    reg [BITS:0] written = {BITS + 1{1'b0}};
    wire all_written = written == G[BITS:0] && !busy;
    reg begun = 1'b0;

    // Ranks: off (the pin shows what a dead job left), settled (written back), waiting in a barrier.
    reg [P-1:0] pin;
    reg [P-1:0] live = {P{1'b0}}, inside = {P{1'b0}};
    reg [P*BITS-1:0] select;

    hb_groups #(.P(P), .BITS(BITS)) stale_groups (
        .clk(clk), .rst(1'b0), .level(pin), .select(select), .released(released),
        .group_write(!all_written && written != G[BITS:0]), .group_number(written[BITS-1:0]),
        .group_members(member[written[BITS-1:0]*P+:P]), .group_busy(busy)
    );

    genvar k;
    generate
        for (k = 0; k < P; k = k + 1) begin : g_rank
            wire [BITS-1:0] mine = select[k*BITS+:BITS];
            wire [BITS-1:0] next = choose[k*BITS+:BITS];
            always @(posedge clk)
                if (!live[k]) begin
                    if (begun && go[k]) {pin[k], live[k]} <= {released[k], 1'b1};
                end else if (!inside[k]) begin
                    // The write-back is held for a clock, a new choice too, before the toggle that means arrival.
                    if (go[k] && settled[k] && member[mine*P+k]) {pin[k], inside[k]} <= {!pin[k], 1'b1};
                    else if (choose_now[k]) select[k*BITS+:BITS] <= next;
                end else if (released[k] == pin[k]) inside[k] <= 1'b0;
        end
    endgenerate
    (* anyseq *) wire [P-1:0] choose_now;
    reg [P-1:0] settled = {P{1'b0}};
    always @(posedge clk) begin
        settled <= live & ~inside;
        begun <= begun | (all_written & begin_now);
        if (!busy && written != G[BITS:0]) written <= written + 1'b1;
    end

    `include "groups_claims.vh"

`ifdef COVER
    // Two groups at once, from a stale pin, a second barrier.
    always @* assert (!(stale && releases == 2'd2 && &inside[1:0] && select[0] != select[BITS]));
`endif
endmodule
