// The program that tools/dctcp runs under ns-3. SENDERS endless flows of DCTCP go through one switch to one receiver,
// over links of 10 Gbit/s and 25 us. The switch marks above K packets.
//
//     dctcp SENDERS K SECONDS
//
// Of the second half it prints the mean queue and its 5th and 95th percentile (packets). It also prints the share of
// marked packets and the used share of the link.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <vector>

using namespace ns3;

static std::vector<uint32_t> queue;
static uint64_t bytes;

static void look(Ptr<QueueDisc> disc, Time each) {
    queue.push_back(disc->GetNPackets());
    Simulator::Schedule(each, look, disc, each);
}

static void sent(Ptr<const Packet> packet) { bytes += packet->GetSize(); }

static uint64_t marked(Ptr<QueueDisc> disc) { return disc->GetStats().nTotalMarkedPackets; }
static uint64_t taken(Ptr<QueueDisc> disc) { return disc->GetStats().nTotalDequeuedPackets; }

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    uint32_t senders = std::strtoul(argv[1], nullptr, 10);
    double k = std::strtod(argv[2], nullptr), seconds = std::strtod(argv[3], nullptr);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpDctcp"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));
    // The queue that waits is the discipline's: the device holds one packet.
    Config::SetDefault("ns3::DropTailQueue<Packet>::MaxSize", StringValue("1p"));
    NodeContainer all;
    all.Create(senders + 2);
    InternetStackHelper().Install(all);
    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    wire.SetChannelAttribute("Delay", StringValue("25us"));
    TrafficControlHelper marks, plain;
    marks.SetRootQueueDisc("ns3::RedQueueDisc", "UseEcn", BooleanValue(true), "UseHardDrop", BooleanValue(false), "QW",
                           DoubleValue(1.0), "MinTh", DoubleValue(k), "MaxTh", DoubleValue(k + 0.001), "MaxSize",
                           StringValue("10000p"), "Gentle", BooleanValue(false), "MeanPktSize", UintegerValue(1500));
    plain.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("100000p"));
    // Node 0 receives, node 1 is the switch.
    Ptr<QueueDisc> disc;
    Ptr<NetDevice> out;
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    Ipv4Address receiver;
    for (uint32_t node = 0; node < senders + 2; node++) {
        if (node == 1)
            continue;
        NetDeviceContainer ends = wire.Install(all.Get(node), all.Get(1));
        plain.Install(ends.Get(0));
        QueueDiscContainer at = (node == 0 ? marks : plain).Install(ends.Get(1));
        Ipv4InterfaceContainer both = addresses.Assign(ends);
        addresses.NewNetwork();
        if (node == 0) {
            disc = at.Get(0);
            out = ends.Get(1);
            receiver = both.GetAddress(0);
        }
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    PacketSinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9)).Install(all.Get(0));
    for (uint32_t node = 2; node < senders + 2; node++) {
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(receiver, 9));
        bulk.SetAttribute("SendSize", UintegerValue(1 << 16));
        // Not all at the same instant.
        bulk.Install(all.Get(node)).Start(MicroSeconds(7 * node));
    }
    Simulator::Stop(Seconds(seconds / 2));
    Simulator::Run();
    uint64_t marked_before = marked(disc), taken_before = taken(disc);
    out->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&sent));
    Simulator::Schedule(MicroSeconds(1), look, disc, MicroSeconds(10));
    Simulator::Stop(Seconds(seconds / 2));
    Simulator::Run();
    std::sort(queue.begin(), queue.end());
    double sum = 0;
    for (uint32_t length : queue)
        sum += length;
    double share = double(marked(disc) - marked_before) / std::max<uint64_t>(1, taken(disc) - taken_before);
    std::cout << sum / queue.size() << " " << queue[queue.size() / 20] << " " << queue[queue.size() * 19 / 20] << " " << share
              << " " << bytes * 8 / (seconds / 2 * 1e10) << "\n";
    Simulator::Destroy();
    return 0;
}
