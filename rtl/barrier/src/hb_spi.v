// The register bus over four wires, for boards without a wider one: SPI mode 0, sck at most an eighth of clk.
// A frame is 48 bits, most significant first, while cs_n is low: write, three zeros, address[11:0], data[31:0].
// A write is done at the frame's last bit. A read answers in the data bits of the same frame on miso.
`default_nettype none
module hb_spi #(
    parameter STAGES = 2
) (
    input  wire        clk,
    input  wire        rst,
    input  wire        cs_n,
    input  wire        sck,
    input  wire        mosi,
    output wire        miso,
    output wire        bus_valid,
    output wire        bus_write,
    output wire [11:0] bus_addr,
    output wire [31:0] bus_wdata,
    input  wire [31:0] bus_rdata
);
    wire cs_n_s, sck_s, mosi_s;
    hb_sync #(.W(3), .STAGES(STAGES)) sync_inst (
        .clk(clk), .async_in({cs_n, sck, mosi}), .sync_out({cs_n_s, sck_s, mosi_s})
    );

    reg sck_reg = 1'b0;
    reg [5:0] count_reg = 6'd0;       // bits of the frame taken
    reg [31:0] in_reg = 32'd0;
    reg [31:0] out_reg = 32'd0;
    reg valid_reg = 1'b0, write_reg = 1'b0, load_reg = 1'b0;
    reg [11:0] addr_reg = 12'd0;
    wire rise = sck_s & ~sck_reg;
    wire fall = ~sck_s & sck_reg;
    wire [31:0] in_next = {in_reg[30:0], mosi_s};

    always @(posedge clk) begin
        sck_reg <= sck_s;
        valid_reg <= 1'b0;
        load_reg <= valid_reg & ~write_reg;  // the answer is on bus_rdata one clock after the request
        if (rst || cs_n_s) count_reg <= 6'd0;
        else if (rise && count_reg != 6'd48) begin
            in_reg <= in_next;
            count_reg <= count_reg + 6'd1;
            if (count_reg == 6'd15) begin
                {write_reg, addr_reg} <= {in_next[15], in_next[11:0]};
                valid_reg <= ~in_next[15];
            end
            if (count_reg == 6'd47) valid_reg <= write_reg;
        end
        if (load_reg) out_reg <= bus_rdata;
        else if (fall && count_reg > 6'd16) out_reg <= {out_reg[30:0], 1'b0};
    end

    assign miso = out_reg[31];
    assign bus_valid = valid_reg;
    assign bus_write = write_reg;
    assign bus_addr = addr_reg;
    assign bus_wdata = in_reg;
endmodule
`default_nettype wire
