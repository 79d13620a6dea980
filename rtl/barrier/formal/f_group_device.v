// A device with groups selected by wires, whole but for SPI. A launcher on the bus writes the groups; ranks are on the
// wires that a dead job left at any level. A rank waits until ARMED shows its port, and may move its select wires in
// the very clock in which it moves OUT. No rank is released before every member of its group has arrived at that very
// group. Once the last has, all are released within 2P clocks and the delay of the wires.
module f_group_device #(parameter P = 2, parameter BITS = 1, parameter STAGES = 1, parameter SAMPLES = 1) (input wire clk);
    localparam G = 2 ** BITS;
    localparam SETTLE = STAGES + SAMPLES + 1;  // until the device sees what the wires show
    localparam BOUND = 2 * P + 2 + SETTLE;
    (* anyconst *) wire [G*P-1:0] member;      // of each group, fixed for the job
    (* anyseq *) wire [P*BITS-1:0] choose;
    (* anyseq *) wire [P-1:0] go, choose_now;
    (* anyseq *) wire begin_now;
    wire [P-1:0] released;
    wire [31:0] rdata;

    // The launcher: waits until the wires have come to rest, writes each group, awaits BUSY's end, then reads ARMED on and on.
    localparam REST = 0, WRITE = 1, ASK = 2, ANSWER = 3, READ = 4;
    reg [2:0] state = REST, age = 3'd0;
    reg [BITS:0] group = {BITS + 1{1'b0}};
    wire last = group == G[BITS:0] - 1'b1;
    reg reading = 1'b0, begun = 1'b0;
    always @(posedge clk) begin
        age <= age == SETTLE ? age : age + 3'd1;
        case (state)
            REST: if (age == SETTLE) state <= WRITE;
            WRITE: state <= ASK;
            ASK: state <= ANSWER;  // BUSY is addressed
            ANSWER: if (!rdata[0]) begin
                state <= last ? READ : WRITE;
                group <= group + 1'b1;
            end
            default: reading <= 1'b1;
        endcase
        begun <= begun | (reading & begin_now);
    end

    // Ranks: off (the pin shows what a dead job left), live (written back), inside a barrier.
    reg [P-1:0] pin;
    reg [P-1:0] live = {P{1'b0}}, inside = {P{1'b0}};
    reg [P*BITS-1:0] select;

    hb_group_device #(.P(P), .BITS(BITS), .STAGES(STAGES), .SAMPLES(SAMPLES)) stale_device (
        .clk(clk), .rst(1'b0), .pin_in(pin), .select_in(select), .pin_out(released), .bus_valid(1'b1),
        .bus_write(state == WRITE), .bus_addr(state == WRITE ? 12'h800 | group : state == READ ? 12'h300 : 12'h003),
        .bus_wdata({{32 - P{1'b0}}, member[group[BITS-1:0]*P+:P]}), .bus_rdata(rdata)
    );

    genvar k;
    generate
        for (k = 0; k < P; k = k + 1) begin : g_rank
            wire [BITS-1:0] next = choose_now[k] ? choose[k*BITS+:BITS] : select[k*BITS+:BITS];
            always @(posedge clk)
                if (!live[k]) begin
                    if (begun && go[k]) {pin[k], live[k]} <= {released[k], 1'b1};
                end else if (!inside[k]) begin
                    select[k*BITS+:BITS] <= next;
                    if (go[k] && rdata[k] && member[next*P+k]) {pin[k], inside[k]} <= {!pin[k], 1'b1};
                end else if (released[k] == pin[k]) inside[k] <= 1'b0;
        end
    endgenerate

    `include "groups_claims.vh"

`ifdef COVER
    // From a stale pin, a second barrier.
    always @* assert (!(stale && releases == 2'd2 && &inside[1:0]));
`endif
endmodule
