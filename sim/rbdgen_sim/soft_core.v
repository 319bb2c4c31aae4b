// A soft core with memory, an accelerator's shell of registers on its bus (ACCELERATOR), and a mailbox, through which its
// firmware and a host exchange bytes. The core is a picorv32, or a vexriscv if VEXRISCV is defined; the shell is on
// Wishbone, or if CSR is defined behind a bridge and a bank as LiteX's are.
//
// 0x00000000  memory, which has the file that +firmware= names at first
// 0x90000000  the accelerator's registers
// 0xa0000000  mailbox: reading waits for a byte of the host's, writing for the host to take one
// 0xa0000004  cycles since the reset
// 0xa0000008  written: nothing more is to be done
`timescale 1ns / 1ps
module soft_core(
  input clk, input rst, output idle,
  input in_valid, output in_ready, input [7:0] in_payload,
  output out_valid, input out_ready, output [7:0] out_payload
);
  localparam WORDS = 1 << 16;
  reg [31:0] memory[0:WORDS-1];
  reg [8*1024-1:0] file;
  integer k;
  initial begin
    for (k = 0; k < WORDS; k = k + 1) memory[k] = 0;
    if ($value$plusargs("firmware=%s", file)) $readmemh(file, memory);
  end

  // the core's bus: an access is held until ready
  wire valid, ready;
  wire [31:0] address, wdata, rdata;
  wire [3:0] strobes;
  wire interrupt;

  reg answered = 0, halted = 0;
  reg [31:0] read = 0, cycles = 0;
  wire ours = valid && !ready;
  wire registers = address[31:28] == 4'h9, mailbox = address[31:28] == 4'ha;
  wire ack, err;
  wire [31:0] shell_read;
  wire byte_access = ours && mailbox && address[3:2] == 0;
  assign in_ready = byte_access && strobes == 0;
  assign out_valid = byte_access && strobes != 0;
  assign out_payload = wdata[7:0];
  assign idle = halted || (in_ready && !in_valid);
  assign ready = registers ? ack || err : answered;
  assign rdata = registers ? shell_read : read;

  always @(posedge clk) begin
    cycles <= rst ? 0 : cycles + 1;
    answered <= 0;
    if (rst) halted <= 0;
    else if (ours && !registers && !answered) begin
      if (!mailbox) begin
        answered <= 1;
        read <= memory[address[17:2]];
        if (strobes[0]) memory[address[17:2]][7:0] <= wdata[7:0];
        if (strobes[1]) memory[address[17:2]][15:8] <= wdata[15:8];
        if (strobes[2]) memory[address[17:2]][23:16] <= wdata[23:16];
        if (strobes[3]) memory[address[17:2]][31:24] <= wdata[31:24];
      end else if (address[3:2] == 0) begin
        answered <= strobes == 0 ? in_valid : out_ready;
        read <= in_payload;
      end else begin
        answered <= 1;
        read <= cycles;
        if (address[3:2] == 2 && strobes != 0) halted <= 1;
      end
    end
  end

`ifdef CSR
  // a cycle of access, and one in which the bank's register has what was read
  reg accessed = 0;
  reg [31:0] bank = 0;
  wire [31:0] csr_read;
  wire access = valid && registers && !accessed;
  assign ack = accessed, err = 0, shell_read = bank;
  always @(posedge clk) begin
    accessed <= access && !rst;
    bank <= csr_read;
  end
  ACCELERATOR shell(
    .clk(clk), .rst(rst), .irq(interrupt), .csr_adr(address[7:2]), .csr_we(access && strobes != 0),
    .csr_re(access && strobes == 0), .csr_dat_w(wdata), .csr_dat_r(csr_read)
  );
`else
  ACCELERATOR shell(
    .clk(clk), .rst(rst), .irq(interrupt), .wb_adr(address[7:2]), .wb_dat_w(wdata), .wb_dat_r(shell_read),
    .wb_sel(4'hf), .wb_cyc(valid && registers), .wb_stb(valid && registers), .wb_we(strobes != 0), .wb_ack(ack),
    .wb_err(err)
  );
`endif

`ifdef VEXRISCV
  // the standard VexRiscv has caches, which fetch lines in bursts whose words are acknowledged one by one
  wire icyc, istb, dcyc, dstb, dwe;
  wire [29:0] iadr, dadr;
  wire [3:0] dsel;
  reg data_turn = 0, busy = 0;
  wire data = busy ? data_turn : dcyc && dstb;
  always @(posedge clk) begin
    if (rst || ready) busy <= 0;
    else if (valid) begin
      busy <= 1;
      data_turn <= data;
    end
  end
  assign valid = data ? dcyc && dstb : icyc && istb;
  assign address = {data ? dadr : iadr, 2'b00};
  assign strobes = data && dwe ? dsel : 4'h0;
  VexRiscv core(
    .clk(clk), .reset(rst), .externalResetVector(32'h0), .timerInterrupt(1'b0), .softwareInterrupt(1'b0),
    .externalInterruptArray({31'h0, interrupt}),
    .iBusWishbone_CYC(icyc), .iBusWishbone_STB(istb), .iBusWishbone_ACK(ready && !data), .iBusWishbone_WE(),
    .iBusWishbone_ADR(iadr), .iBusWishbone_DAT_MISO(rdata), .iBusWishbone_DAT_MOSI(), .iBusWishbone_SEL(),
    .iBusWishbone_ERR(1'b0), .iBusWishbone_CTI(), .iBusWishbone_BTE(),
    .dBusWishbone_CYC(dcyc), .dBusWishbone_STB(dstb), .dBusWishbone_ACK(ready && data), .dBusWishbone_WE(dwe),
    .dBusWishbone_ADR(dadr), .dBusWishbone_DAT_MISO(rdata), .dBusWishbone_DAT_MOSI(wdata), .dBusWishbone_SEL(dsel),
    .dBusWishbone_ERR(1'b0), .dBusWishbone_CTI(), .dBusWishbone_BTE()
  );
`else
  picorv32 #(
    .ENABLE_MUL(1), .ENABLE_DIV(1), .BARREL_SHIFTER(1), .CATCH_MISALIGN(1), .CATCH_ILLINSN(1)
  ) core(
    .clk(clk), .resetn(!rst), .mem_valid(valid), .mem_ready(ready), .mem_addr(address), .mem_wdata(wdata),
    .mem_wstrb(strobes), .mem_rdata(rdata), .irq({31'h0, interrupt} & 32'h0), .pcpi_wr(1'b0), .pcpi_rd(32'h0),
    .pcpi_wait(1'b0), .pcpi_ready(1'b0)
  );
`endif
endmodule
