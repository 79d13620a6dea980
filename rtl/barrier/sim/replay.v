// Plays the model's clocks (replay.py) to a device and compares every output before each rising edge.
`timescale 1ns / 1ns
`default_nettype none
module replay #(
    parameter P = 4,
    parameter B = 1,
    parameter ROOT = 1,
    parameter ARM = 1,
    parameter STAGES = 2,
    parameter SAMPLES = 3,
    parameter [P-1:0] BUS_PORTS = 0,
    parameter CLOCKS = 1
);
    reg [79+B*P+3*B:0] line [0:CLOCKS-1];
    reg clk = 1'b0;
    reg rst = 1'b0, valid = 1'b0, write = 1'b0;
    reg [B*P-1:0] pins = 0;
    reg [B-1:0] parent = 0;
    reg [11:0] addr = 0;
    reg [31:0] data = 0;
    wire [B-1:0] down, up;
    wire [31:0] rdata;
    wire irq;
    reg [B-1:0] want_down, want_up;
    reg [31:0] want_rdata;
    reg want_irq;
    integer k;
    reg [8*200-1:0] file;

    hb_device #(.P(P), .B(B), .ROOT(ROOT), .ARM(ARM), .STAGES(STAGES), .SAMPLES(SAMPLES), .BUS_PORTS(BUS_PORTS)) device (
        .clk(clk), .rst(rst), .pin_in(pins), .pin_out(down), .up_out(up), .down_in(parent), .bus_valid(valid),
        .bus_write(write), .bus_addr(addr), .bus_wdata(data), .bus_rdata(rdata), .irq(irq)
    );

    initial begin
        if (!$value$plusargs("lines=%s", file)) $finish;
        $readmemh(file, line);
        for (k = 0; k < CLOCKS; k = k + 1) begin
            {rst, pins, parent, valid, write, addr, data, want_down, want_up, want_rdata, want_irq} = line[k];
            #5;
            if ({down, up, rdata, irq} !== {want_down, want_up, want_rdata, want_irq}) begin
                $display("clock %0d: pin_out %h up_out %h bus_rdata %h irq %h, not %h %h %h %h", k, down, up, rdata, irq,
                         want_down, want_up, want_rdata, want_irq);
                $finish;
            end
            clk = 1'b1;
            #5 clk = 1'b0;
        end
        $display("as the model");
        $finish;
    end
endmodule
`default_nettype wire
