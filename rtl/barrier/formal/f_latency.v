// End to end through the concrete tree, links and all. Once the last of the ranks has arrived, every rank's wire shows
// the release within BOUND clocks. These are a link and one clock per level going up, and the same coming down.
module f_latency #(
    parameter RADIX = 2, parameter DEPTH = 2, parameter STAGES = 2, parameter SAMPLES = 3,
    parameter SLACK = 0  // subtracted from the bound: 1 must fail, the bound is tight
) (input wire clk);
    localparam LEAVES = RADIX ** DEPTH;
    localparam NODES = (RADIX ** DEPTH - 1) / (RADIX - 1);
    localparam LAST = RADIX ** (DEPTH - 1);
    localparam HOP = STAGES + SAMPLES + 1;
    localparam BOUND = HOP * DEPTH + HOP * (DEPTH - 1) - SLACK;
    (* anyseq *) wire [LEAVES-1:0] go;
    reg [LEAVES-1:0] pin = {LEAVES{1'b0}};
    wire [LAST-1:0] status;
    reg [7:0] age = 8'd0, waited = 8'd0;
    wire ready = age > 2 * HOP;

    hb_tree #(.RADIX(RADIX), .DEPTH(DEPTH), .STAGES(STAGES), .SAMPLES(SAMPLES)) tree (
        .clk(clk), .rst(1'b0), .start({NODES{age == 0}}), .member({LEAVES{1'b1}}), .pin_in(pin), .pin_out(status)
    );

    wire all_wait = pin == {LEAVES{1'b1}} && status != {LAST{1'b1}} || pin == {LEAVES{1'b0}} && status != {LAST{1'b0}};
    genvar k;
    generate
        for (k = 0; k < LEAVES; k = k + 1) begin : g_rank
            wire seen = status[k/RADIX];
            // A rank may arrive whenever it has been released; it sees its wire at once, the hardest case.
            always @(posedge clk) if (ready && go[k] && seen == pin[k]) pin[k] <= !pin[k];
        end
    endgenerate
    always @(posedge clk) begin
        if (!ready) age <= age + 8'd1;
        waited <= all_wait ? waited + 8'd1 : 8'd0;
    end
    always @* assert (waited <= BOUND);
endmodule
