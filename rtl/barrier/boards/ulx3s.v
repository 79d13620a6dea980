// Sixteen nodes on a ULX3S (Lattice ECP5, 25 MHz oscillator): 100 MHz by the PLL, headers J1 and J2.
`default_nettype none
module ulx3s #(
    parameter ROOT = 1
) (
    input  wire        clk_25mhz,
    input  wire [15:0] from_node,
    output wire [15:0] to_node,
    output wire        up_out,
    input  wire        down_in,
    input  wire        cs_n,
    input  wire        sck,
    input  wire        mosi,
    output wire        miso,
    output wire        irq,
    output wire [7:0]  led      // 7: clock steady; 4: released level; 3..0: the levels of nodes 3 to 0
);
    wire clk, lock;
    // 25 MHz x 4 = 100 MHz; the oscillator within runs at 100 MHz x 6 = 600 MHz, within 400 to 800.
    (* FREQUENCY_PIN_CLKI="25", FREQUENCY_PIN_CLKOP="100" *)
    EHXPLLL #(
        .CLKI_DIV(1), .CLKFB_DIV(4), .FEEDBK_PATH("CLKOP"), .CLKOP_ENABLE("ENABLED"), .CLKOP_DIV(6), .CLKOP_CPHASE(5),
        .CLKOP_FPHASE(0), .OUTDIVIDER_MUXA("DIVA"), .PLLRST_ENA("DISABLED"), .INTFB_WAKE("DISABLED"),
        .STDBY_ENABLE("DISABLED"), .DPHASE_SOURCE("DISABLED")
    ) pll_inst (
        .CLKI(clk_25mhz), .CLKFB(clk), .CLKOP(clk), .LOCK(lock), .RST(1'b0), .STDBY(1'b0), .PHASESEL0(1'b0),
        .PHASESEL1(1'b0), .PHASEDIR(1'b1), .PHASESTEP(1'b1), .PHASELOADREG(1'b1), .PLLWAKESYNC(1'b0), .ENCLKOP(1'b0)
    );
    board #(.N(16), .ROOT(ROOT)) board_inst (
        .clk(clk), .lock(lock), .from_node(from_node), .to_node(to_node), .up_out(up_out), .down_in(down_in),
        .cs_n(cs_n), .sck(sck), .mosi(mosi), .miso(miso), .irq(irq)
    );
    assign led = {lock, 2'b00, to_node[0], from_node[3:0]};
endmodule
`default_nettype wire
