// The program that bench-sim runs under ns-3. 64 nodes each send BYTES to every other by TCP in segments of 4 KiB, all
// begun at once.
//
//     exchange torus|tree BYTES
//
// Links are those of torus.xml and tree.xml: 400 Gb/s each way, 300 ns. Prints the simulated microseconds to the last
// byte.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/point-to-point-module.h"
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>

using namespace ns3;

static const uint32_t NODES = 64, SIDE = 8;
static uint64_t arrived = 0;
static Time last;

static void received(Ptr<const Packet> packet, const Address &) {
    arrived += packet->GetSize();
    last = Simulator::Now();
}

static void torus(const std::function<void(uint32_t, uint32_t)> &link) {
    for (uint32_t n = 0; n < NODES; n++) {
        uint32_t x = n % SIDE, y = n / SIDE;
        link(n, y * SIDE + (x + 1) % SIDE);
        link(n, (y + 1) % SIDE * SIDE + x);
    }
}

static void tree(const std::function<void(uint32_t, uint32_t)> &link) {
    for (uint32_t n = 0; n < NODES; n++)
        link(n, NODES + n / SIDE);
    for (uint32_t leaf = 0; leaf < SIDE; leaf++)
        for (uint32_t spine = 0; spine < SIDE; spine++)
            link(NODES + leaf, NODES + SIDE + spine);
}

int main(int argc, char **argv) {
    bool is_torus = argc > 1 && std::string(argv[1]) == "torus";
    uint64_t bytes = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 65536;
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(4096));
    Config::SetDefault("ns3::Ipv4GlobalRouting::RandomEcmpRouting", BooleanValue(true));
    NodeContainer all;
    all.Create(is_torus ? NODES : NODES + 2 * SIDE);
    InternetStackHelper().Install(all);
    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue("400Gbps"));
    wire.SetDeviceAttribute("Mtu", UintegerValue(4200));
    wire.SetChannelAttribute("Delay", StringValue("300ns"));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    auto link = [&](uint32_t a, uint32_t b) {
        addresses.Assign(wire.Install(all.Get(a), all.Get(b)));
        addresses.NewNetwork();
    };
    is_torus ? torus(link) : tree(link);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    for (uint32_t n = 0; n < NODES; n++) {
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
        sink.Install(all.Get(n)).Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&received));
        for (uint32_t k = 1; k < NODES; k++) {
            Ptr<Node> peer = all.Get((n + k) % NODES);
            Ipv4Address to = peer->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
            BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(to, 9));
            source.SetAttribute("MaxBytes", UintegerValue(bytes));
            source.SetAttribute("SendSize", UintegerValue(4096));
            source.Install(all.Get(n));
        }
    }
    Simulator::Run();
    if (arrived != NODES * (NODES - 1) * bytes) {
        std::cerr << "ns-3: " << arrived << " bytes arrived\n";
        return 1;
    }
    std::cout << last.GetNanoSeconds() / 1e3 << "\n";
    Simulator::Destroy();
    return 0;
}
