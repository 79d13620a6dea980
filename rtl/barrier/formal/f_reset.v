// Resets reach everything: a device in any state and one fresh from power-on get the same inputs, a reset first. Once
// the links, which have none, show what the wires show, the two never differ again, at any output.
module f_reset #(parameter ROOT = 0, parameter ARM = 1) (input wire clk);
    localparam STAGES = 1, SAMPLES = 1;
    localparam SETTLE = STAGES + SAMPLES + 1;
    (* anyseq *) wire rst_in, valid, write;
    (* anyseq *) wire [1:0] pins;
    (* anyseq *) wire parent;
    (* anyseq *) wire [11:0] addr;
    (* anyseq *) wire [31:0] data;
    reg [2:0] age = 3'd0;
    wire settled = age > SETTLE;
    wire rst = rst_in || !settled;
    wire out_a, out_b, up_a, up_b, irq_a, irq_b;
    wire [31:0] rdata_a, rdata_b;

    hb_device #(.P(2), .B(1), .ROOT(ROOT), .ARM(ARM), .STAGES(STAGES), .SAMPLES(SAMPLES), .BUS_PORTS(2'b01)) stale_device (
        .clk(clk), .rst(rst), .pin_in(pins), .pin_out(out_a), .up_out(up_a), .down_in(parent), .bus_valid(valid),
        .bus_write(write), .bus_addr(addr), .bus_wdata(data), .bus_rdata(rdata_a), .irq(irq_a)
    );
    hb_device #(.P(2), .B(1), .ROOT(ROOT), .ARM(ARM), .STAGES(STAGES), .SAMPLES(SAMPLES), .BUS_PORTS(2'b01)) fresh_device (
        .clk(clk), .rst(rst), .pin_in(pins), .pin_out(out_b), .up_out(up_b), .down_in(parent), .bus_valid(valid),
        .bus_write(write), .bus_addr(addr), .bus_wdata(data), .bus_rdata(rdata_b), .irq(irq_b)
    );
    always @(posedge clk) if (!settled) age <= age + 3'd1;
    always @* if (settled) assert ({out_a, up_a, irq_a, rdata_a} == {out_b, up_b, irq_b, rdata_b});
`ifdef COVER
    always @* assert (!(settled && out_a && irq_a));
`endif
endmodule
