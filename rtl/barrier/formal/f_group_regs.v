// The register file of hb_groups alone, from any state, against docs/barrier.md's table: for any one port, so for all.
module f_group_regs #(parameter P = 5, parameter BITS = 3) (input wire clk);
    (* anyconst *) wire [4:0] p;
    (* anyconst *) wire [4:0] k;  // a bit of a word read
    (* anyseq *) wire rst, valid, write_in, busy;
    (* anyseq *) wire [11:0] addr;
    (* anyseq *) wire [31:0] data;
    (* anyseq *) wire [P-1:0] released, armed, irq_status;
    wire [31:0] rdata;
    wire [P-1:0] clear, enable, members;
    wire [BITS-1:0] number;
    wire group_write;

    hb_group_regs #(.P(P), .BITS(BITS)) stale_regs (
        .clk(clk), .rst(rst), .bus_valid(valid), .bus_write(write_in), .bus_addr(addr), .bus_wdata(data),
        .bus_rdata(rdata), .released(released), .armed(armed), .irq_status(irq_status), .irq_clear(clear),
        .irq_enable(enable), .group_write(group_write), .group_number(number), .group_members(members),
        .group_busy(busy)
    );

    wire write = valid && write_in;
    reg first = 1'b1;
    reg was_rst, was_write, was_released, was_armed, was_status, was_enable, was_busy;
    reg [11:0] was_addr;
    reg [31:0] was_data;
    always @(posedge clk) begin
        first <= 1'b0;
        {was_rst, was_write, was_addr, was_data} <= {rst, write, addr, data};
        {was_released, was_armed, was_status, was_enable} <= {released[p], armed[p], irq_status[p], enable[p]};
        was_busy <= busy;
    end
    always @* begin
        assume (p < P);
        assert (clear[p] == (write && addr == 12'h004 && data[p]));
        assert (group_write == (write && addr >= 12'h800 && addr < 13'h0800 + 2 ** BITS));
        assert (number == addr[BITS-1:0] && members[p] == data[p]);
        if (!first && was_rst) assert (!enable[p]);
        if (!first && !was_rst) assert (enable[p] == (was_write && was_addr == 12'h005 ? was_data[p] : was_enable));
        if (!first) begin  // reads, a reset or not
            case (was_addr)
                12'h000: assert (rdata == 32'h48424731);
                12'h001: assert (rdata == {8'd0, 8'd0 | BITS[7:0], 16'd0 | P[15:0]});
                12'h002: assert (rdata[p] == was_released);
                12'h003: assert (rdata == {31'd0, was_busy});
                12'h004: assert (rdata[p] == was_status);
                12'h005: assert (rdata[p] == was_enable);
                12'h300: assert (rdata[p] == was_armed);
                default: assert (rdata == 32'd0);
            endcase
            if (was_addr != 12'h000 && was_addr != 12'h001 && k >= P) assert (!rdata[k]);
        end
    end
`ifdef COVER
    always @* assert (!(!first && !was_rst && group_write && number == {BITS{1'b1}} && rdata[P-1] && enable[p]));
`endif
endmodule
