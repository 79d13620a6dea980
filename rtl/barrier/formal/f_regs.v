// The register file alone, from any state, against docs/barrier.md's table. The proof is for any one port of any one
// barrier, so for all of them, at any size. One clock of history decides all.
module f_regs #(parameter P = 256, parameter B = 3, parameter ROOT = 1, parameter ARM = 1) (input wire clk);
    localparam [P-1:0] BUS_PORTS = {{P / 2{2'b01}}} | {P{1'b0}};
    localparam WORDS = (P + 31) / 32;
    (* anyconst *) wire [7:0] p;
    (* anyconst *) wire [4:0] b;
    (* anyconst *) wire [4:0] k;  // a bit of a word read
    (* anyseq *) wire rst, valid, write_in;
    (* anyseq *) wire [11:0] addr;
    (* anyseq *) wire [31:0] data;
    (* anyseq *) wire [B-1:0] up, down, irq_status;
    (* anyseq *) wire [B*P-1:0] armed;
    wire [31:0] rdata;
    wire [B-1:0] clear, enable, start;
    wire [B*P-1:0] member, level;

    hb_regs #(.P(P), .B(B), .ROOT(ROOT), .ARM(ARM), .BUS_PORTS(BUS_PORTS)) stale_regs (
        .clk(clk), .rst(rst), .bus_valid(valid), .bus_write(write_in), .bus_addr(addr), .bus_wdata(data),
        .bus_rdata(rdata), .up(up), .down(down), .armed(armed), .irq_status(irq_status), .irq_clear(clear),
        .irq_enable(enable), .start(start), .member(member), .bus_level(level)
    );

    wire [11:0] group_addr = 12'h200 + {4'd0, b, 3'd0} + {9'd0, p[7:5]};
    wire [11:0] armed_addr = group_addr + 12'h100;
    wire [11:0] toggle_addr = 12'h100 + {4'd0, p};
    wire on_bus = BUS_PORTS[p];
    wire write = valid && write_in;
    wire my_member = member[b*P+p], my_level = level[b*P+p], my_armed = armed[b*P+p];
    // Which read this is.
    wire is_group = addr[11:8] == 4'h2 && addr[7:3] < B && addr[2:0] < WORDS;
    wire is_armed = addr[11:8] == 4'h3 && addr[7:3] < B && addr[2:0] < WORDS;
    wire is_toggle = addr[11:8] == 4'h1 && addr[7:0] < P && BUS_PORTS[addr[7:0]];
    wire is_none = addr > 12'h005 && !is_group && !is_armed && !is_toggle;

    reg first = 1'b1;
    reg was_rst, was_write, was_member, was_level, was_armed, was_start, was_down, was_up, was_status, was_enable;
    reg was_group, was_none;
    reg [11:0] was_addr;
    reg [31:0] was_data;
    always @(posedge clk) begin
        first <= 1'b0;
        {was_rst, was_write, was_addr, was_data} <= {rst, write, addr, data};
        {was_member, was_level, was_armed} <= {my_member, my_level, my_armed};
        {was_start, was_down, was_up, was_status, was_enable} <= {start[b], down[b], up[b], irq_status[b], enable[b]};
        was_group <= is_group && addr[7:3] == b;
        was_none <= is_none;
    end
    always @* begin
        assume (p < P && b < B);
        assert (clear[b] == (write && addr == 12'h004 && data[b]));
        if (!first && was_rst) assert (!my_member && !my_level && !start[b] && !enable[b]);
        if (!first && !was_rst) begin
            assert (my_member == (was_write && was_addr == group_addr ? was_data[p[4:0]] : was_member));
            assert (start[b] == (was_write && was_group));
            assert (enable[b] == (was_write && was_addr == 12'h005 ? was_data[b] : was_enable));
            if (!on_bus) assert (my_level == was_level);
            else if (was_start) assert (my_level == was_down);
            else assert (my_level == (was_level ^ (was_write && was_addr == toggle_addr && was_data[b])));
        end
        if (!first) begin  // reads, a reset or not
            if (was_addr == 12'h000) assert (rdata == 32'h48423031);
            if (was_addr == 12'h001) assert (rdata == {6'd0, ARM != 0, ROOT != 0, 8'd0 | B[7:0], 16'd0 | P[15:0]});
            if (was_addr == 12'h002) assert (rdata[b] == was_down);
            if (was_addr == 12'h003) assert (rdata[b] == was_up);
            if (was_addr == 12'h004) assert (rdata[b] == was_status);
            if (was_addr == 12'h005) assert (rdata[b] == was_enable);
            if (was_addr >= 12'h002 && was_addr <= 12'h005 && k >= B) assert (!rdata[k]);
            if (was_addr == group_addr) assert (rdata[p[4:0]] == was_member);
            if (was_addr == armed_addr) assert (rdata[p[4:0]] == was_armed);
            if (was_addr == toggle_addr && on_bus) assert (rdata[b] == was_level);
            if (was_none) assert (rdata == 32'd0);
        end
    end
`ifdef COVER
    always @* assert (!(!first && !was_rst && my_level && p == P - 2 && b == B - 1 && rdata[31]));
`endif
endmodule
