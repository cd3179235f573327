/* Peer: ns-3, a packet-level network simulator in C++: the network of models/lan.toml.
 *
 * Twelve desks ask a server over three buildings' switches, a router and a hall: four point-to-point links each way, queues that drop at
 * their tail. It is there twice: lan-ip with ns-3's own UDP over IPv4 and global routing, as its examples are written; lan with the same
 * links, and nodes that pass a packet on by a table, so that nothing is simulated that the other model has not.
 *
 * A round is one run of --iterations requests until each has its page or is lost; the figure is requests a second of real time. With
 * --seeds N it says instead what was found in N runs of the time that models/lan.toml has, a JSON object each, in that model's names.
 */

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cinttypes>
#include <functional>
#include <map>
#include <string>
#include <vector>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include "options.h"
#include "report.h"
#pragma GCC diagnostic pop

using namespace ns3;

namespace {

constexpr int DESKS = 12;
constexpr int BUILDINGS = 3;
/* On a link: ours are without the 30 bytes of headers. */
constexpr uint32_t QUESTION = 1000;
constexpr uint32_t PAGE = 1500;
constexpr uint32_t PPP_HEADER = 2;
constexpr uint32_t UDP_AND_IP_HEADERS = 28;
constexpr uint16_t SERVER_PORT = 9;
constexpr uint32_t WITHOUT_LIMIT = 1000000000;

constexpr double RATE = 16000;

/* What a port did since the warm-up. */
struct Port {
    std::string name;
    int ends = 0;
    uint64_t packets = 0;
    uint64_t dropped = 0;
    Time busy;
    DataRate rate;
};

/* What a run is, and when it ends: after so many requests, or at a time. */
struct Run {
    bool ip;
    uint64_t seed;
    /* 0: no limit. */
    uint64_t requests;
    Time end;
    Time warm_up;
    /* Whether what is found is kept, or only how many requests came to their end. */
    bool finds;
};

/* One run. */
class Lan {
  public:
    explicit Lan(const Run &run);
    void run();
    void print() const;
    /* Requests that have their page, or whose question or page found no room. */
    uint64_t ended() const;

  private:
    /* One end of a link, where it sends: how many packets wait at most, besides the one being sent. */
    struct Direction {
        int from;
        int to;
        const char *name;
        uint32_t packets;
    };

    int node_of_building(int building) const { return DESKS + building; }
    static constexpr int ROUTER = DESKS + BUILDINGS;
    static constexpr int HALL = ROUTER + 1;
    static constexpr int SERVER = HALL + 1;

    void link(const Direction &there, const Direction &back, const char *rate, Time delay);
    void port(const Direction &direction, Ptr<NetDevice> device);
    void measure(int index, Ptr<PointToPointNetDevice> device);
    void use_ip();
    void use_tables();
    int towards(int node, int destination) const;

    void ask(int desk);
    void page_came(uint64_t number);
    void pass_on(int node, Ptr<Packet> packet);

    Run run_;
    NodeContainer nodes_;
    std::vector<Port> ports_;
    /* By node and neighbour. */
    std::map<std::pair<int, int>, Ptr<NetDevice>> devices_;
    std::map<std::pair<int, int>, Ipv4Address> addresses_;
    std::vector<Ptr<Socket>> sockets_;
    std::vector<Ptr<ExponentialRandomVariable>> between_;
    /* When what is under way was asked: before the end of the warm-up nothing is kept. */
    std::map<uint64_t, Time> under_way_;
    uint64_t asked_ = 0;
    uint64_t answered_ = 0;
    bool measures_ = false;
    uint64_t measured_ = 0;
    double measured_seconds_ = 0;
};

/* The number of a request, and for which desk: what is passed on carries both. */
class Label : public Header {
  public:
    Label() = default;
    Label(uint64_t number, uint32_t desk, bool is_page) : number_(number), desk_(desk), is_page_(is_page) {}
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("quintet::Label").SetParent<Header>().AddConstructor<Label>();
        return id;
    }
    TypeId GetInstanceTypeId() const override { return GetTypeId(); }
    uint32_t GetSerializedSize() const override { return 13; }
    void Serialize(Buffer::Iterator at) const override
    {
        at.WriteU64(number_);
        at.WriteU32(desk_);
        at.WriteU8(is_page_);
    }
    uint32_t Deserialize(Buffer::Iterator at) override
    {
        number_ = at.ReadU64();
        desk_ = at.ReadU32();
        is_page_ = at.ReadU8() != 0;
        return GetSerializedSize();
    }
    void Print(std::ostream &out) const override { out << number_; }

    uint64_t number_ = 0;
    uint32_t desk_ = 0;
    bool is_page_ = false;
};

Ptr<Packet> packet_of(uint64_t number, int desk, bool is_page, uint32_t headers)
{
    Label label(number, static_cast<uint32_t>(desk), is_page);
    uint32_t bytes = (is_page ? PAGE : QUESTION) - headers - label.GetSerializedSize();
    Ptr<Packet> packet = Create<Packet>(bytes);
    packet->AddHeader(label);
    return packet;
}

Lan::Lan(const Run &run) : run_(run)
{
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(run.seed);
    nodes_.Create(SERVER + 1);
    /* What a port's buffer holds in the model, of questions there and pages back, is one more: it has the packet being sent in it. */
    for (int desk = 0; desk < DESKS; desk++) {
        int building = node_of_building(desk / (DESKS / BUILDINGS));
        link({desk, building, "desk.desk", WITHOUT_LIMIT}, {building, desk, "building.desk", 4 - 1}, "1Gbps", NanoSeconds(500));
    }
    for (int building = 0; building < BUILDINGS; building++) {
        int node = node_of_building(building);
        link({node, ROUTER, "building.up", 6 - 1}, {ROUTER, node, "router.up", 4 - 1}, "1Gbps", MicroSeconds(5));
    }
    link({ROUTER, HALL, "router.core", 12 - 1}, {HALL, ROUTER, "hall.core", 8 - 1}, "2.5Gbps", MicroSeconds(5));
    link({HALL, SERVER, "hall.server", 12 - 1}, {SERVER, HALL, "server.server", WITHOUT_LIMIT}, "10Gbps", MicroSeconds(1));
    for (int desk = 0; desk < DESKS; desk++) {
        Ptr<ExponentialRandomVariable> between = CreateObject<ExponentialRandomVariable>();
        between->SetAttribute("Mean", DoubleValue(1 / RATE));
        between_.push_back(between);
    }
    if (run.ip)
        use_ip();
    else
        use_tables();
}

void Lan::link(const Direction &there, const Direction &back, const char *rate, Time delay)
{
    PointToPointHelper helper;
    helper.SetDeviceAttribute("DataRate", StringValue(rate));
    /* Nothing is fragmented. */
    helper.SetDeviceAttribute("Mtu", UintegerValue(PAGE - PPP_HEADER));
    helper.SetChannelAttribute("Delay", TimeValue(delay));
    NetDeviceContainer both = helper.Install(nodes_.Get(there.from), nodes_.Get(back.from));
    port(there, both.Get(0));
    port(back, both.Get(1));
}

void Lan::port(const Direction &direction, Ptr<NetDevice> device)
{
    std::string name = direction.name;
    Ptr<PointToPointNetDevice> end = DynamicCast<PointToPointNetDevice>(device);
    Ptr<DropTailQueue<Packet>> queue = CreateObject<DropTailQueue<Packet>>();
    queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, direction.packets));
    end->SetQueue(queue);
    devices_[{direction.from, direction.to}] = device;
    DataRateValue rate;
    end->GetAttribute("DataRate", rate);
    /* Ports of desks and buildings are counted together. */
    int index = -1;
    for (size_t known = 0; known < ports_.size(); known++)
        if (ports_[known].name == name)
            index = static_cast<int>(known);
    if (index < 0) {
        index = static_cast<int>(ports_.size());
        Port port;
        port.name = name;
        port.rate = rate.Get();
        ports_.push_back(port);
    }
    ports_[static_cast<size_t>(index)].ends++;
    if (run_.finds)
        measure(index, end);
}

void Lan::measure(int index, Ptr<PointToPointNetDevice> device)
{
    std::function<void(Ptr<const Packet>)> begins = [this, index](Ptr<const Packet> packet) {
        if (!measures_)
            return;
        Port &port = ports_[static_cast<size_t>(index)];
        port.packets++;
        port.busy += port.rate.CalculateBytesTxTime(packet->GetSize());
    };
    std::function<void(Ptr<const Packet>)> drops = [this, index](Ptr<const Packet>) {
        if (measures_)
            ports_[static_cast<size_t>(index)].dropped++;
    };
    device->TraceConnectWithoutContext("PhyTxBegin", Callback<void, Ptr<const Packet>>(begins));
    device->GetQueue()->TraceConnectWithoutContext("Drop", Callback<void, Ptr<const Packet>>(drops));
}

/* UDP over IPv4, as ns-3's examples have it, but for the queues of traffic control: those of the devices are what is modelled. */
void Lan::use_ip()
{
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes_);
    uint32_t network = Ipv4Address("10.0.0.0").Get();
    for (auto &[ends, device] : devices_) {
        if (ends.first > ends.second)
            continue;
        Ipv4AddressHelper helper(Ipv4Address(network), Ipv4Mask("255.255.255.252"));
        network += 4;
        NetDeviceContainer both(device, devices_[{ends.second, ends.first}]);
        Ipv4InterfaceContainer interfaces = helper.Assign(both);
        addresses_[ends] = interfaces.GetAddress(0);
        addresses_[{ends.second, ends.first}] = interfaces.GetAddress(1);
    }
    TrafficControlHelper control;
    for (auto &entry : devices_)
        control.Uninstall(entry.second);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Ptr<Socket> server = Socket::CreateSocket(nodes_.Get(SERVER), UdpSocketFactory::GetTypeId());
    server->Bind(InetSocketAddress(Ipv4Address::GetAny(), SERVER_PORT));
    server->SetRecvCallback(Callback<void, Ptr<Socket>>(std::function<void(Ptr<Socket>)>([this](Ptr<Socket> socket) {
        Address from;
        while (Ptr<Packet> packet = socket->RecvFrom(from)) {
            Label label;
            packet->RemoveHeader(label);
            socket->SendTo(packet_of(label.number_, static_cast<int>(label.desk_), true, UDP_AND_IP_HEADERS + PPP_HEADER), 0,
                           from);
        }
    })));
    for (int desk = 0; desk < DESKS; desk++) {
        Ptr<Socket> socket = Socket::CreateSocket(nodes_.Get(desk), UdpSocketFactory::GetTypeId());
        socket->Bind();
        socket->Connect(InetSocketAddress(addresses_[{SERVER, HALL}], SERVER_PORT));
        socket->SetRecvCallback(
            Callback<void, Ptr<Socket>>(std::function<void(Ptr<Socket>)>([this](Ptr<Socket> from) {
                while (Ptr<Packet> packet = from->Recv()) {
                    Label label;
                    packet->RemoveHeader(label);
                    page_came(label.number_);
                }
            })));
        sockets_.push_back(socket);
    }
}

/* The next node of the only way to a desk or the server. */
int Lan::towards(int node, int destination) const
{
    if (node < DESKS)
        return node_of_building(node / (DESKS / BUILDINGS));
    if (node < ROUTER)
        return destination == SERVER ? ROUTER : destination;
    if (node == ROUTER)
        return destination == SERVER ? HALL : node_of_building(destination / (DESKS / BUILDINGS));
    if (node == HALL)
        return destination == SERVER ? SERVER : ROUTER;
    return HALL;
}

/* Nodes without a stack: each passes on what it gets. */
void Lan::use_tables()
{
    for (auto &entry : devices_) {
        int node = entry.first.first;
        std::function<bool(Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address &)> came =
            [this, node](Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address &) {
                pass_on(node, packet->Copy());
                return true;
            };
        entry.second->SetReceiveCallback(NetDevice::ReceiveCallback(came));
    }
}

void Lan::pass_on(int node, Ptr<Packet> packet)
{
    Label label;
    packet->PeekHeader(label);
    int desk = static_cast<int>(label.desk_);
    if (label.is_page_ && node == desk)
        return page_came(label.number_);
    if (!label.is_page_ && node == SERVER) {
        packet = packet_of(label.number_, desk, true, PPP_HEADER);
        label.is_page_ = true;
    }
    Ptr<NetDevice> device = devices_[{node, towards(node, label.is_page_ ? desk : SERVER)}];
    device->Send(packet, device->GetBroadcast(), 0x0800);
}

void Lan::ask(int desk)
{
    if (run_.requests > 0 && asked_ == run_.requests)
        return;
    uint64_t number = asked_++;
    if (run_.finds && measures_)
        under_way_[number] = Simulator::Now();
    if (run_.ip)
        sockets_[static_cast<size_t>(desk)]->Send(packet_of(number, desk, false, UDP_AND_IP_HEADERS + PPP_HEADER));
    else
        pass_on(desk, packet_of(number, desk, false, PPP_HEADER));
    Simulator::Schedule(Seconds(between_[static_cast<size_t>(desk)]->GetValue()), &Lan::ask, this, desk);
}

void Lan::page_came(uint64_t number)
{
    answered_++;
    auto asked = under_way_.find(number);
    if (asked == under_way_.end())
        return;
    measured_seconds_ += (Simulator::Now() - asked->second).GetSeconds();
    measured_++;
    under_way_.erase(asked);
}

void Lan::run()
{
    for (int desk = 0; desk < DESKS; desk++)
        Simulator::Schedule(Seconds(between_[static_cast<size_t>(desk)]->GetValue()), &Lan::ask, this, desk);
    if (run_.finds) {
        Simulator::Schedule(run_.warm_up, [this] { measures_ = true; });
        Simulator::Stop(run_.end);
    }
    Simulator::Run();
}

uint64_t Lan::ended() const
{
    uint64_t dropped = 0;
    for (auto &entry : devices_)
        dropped += DynamicCast<PointToPointNetDevice>(entry.second)->GetQueue()->GetTotalDroppedPackets();
    return answered_ + dropped;
}

void Lan::print() const
{
    double measured = (run_.end - run_.warm_up).GetSeconds();
    std::printf("{\"peer\": \"ns3\", \"case\": \"%s\", \"seed\": %" PRIu64 ", \"measure.page\": %.9e",
                run_.ip ? "lan-ip" : "lan", run_.seed, measured_seconds_ / static_cast<double>(measured_));
    for (const Port &port : ports_) {
        const char *name = port.name.c_str();
        std::printf(", \"port.lan.%s.utilisation\": %.9f", name, port.busy.GetSeconds() / measured / port.ends);
        std::printf(", \"port.lan.%s.packets\": %" PRIu64, name, port.packets);
        std::printf(", \"port.lan.%s.dropped\": %" PRIu64, name, port.dropped);
    }
    std::printf("}\n");
    std::fflush(stdout);
}

void find(bool ip, uint64_t seed)
{
    Run run = {ip, seed, 0, MilliSeconds(1100), MilliSeconds(100), true};
    Lan lan(run);
    lan.run();
    lan.print();
    Simulator::Destroy();
}

/* Requests a second of real time. */
double simulate(bool ip, uint64_t requests)
{
    Run run = {ip, 1, requests, Time(), Time(), false};
    Lan lan(run);
    uint64_t began = now_ns();
    lan.run();
    double taken = static_cast<double>(now_ns() - began) * 1e-9;
    if (lan.ended() != requests) {
        std::fprintf(stderr, "%" PRIu64 " of %" PRIu64 " came to their end\n", lan.ended(), requests);
        std::exit(EXIT_BROKEN);
    }
    Simulator::Destroy();
    return static_cast<double>(requests) / taken;
}

void measure(bool ip, const peer_options &options)
{
    if (options.warmup > 0)
        simulate(ip, static_cast<uint64_t>(options.warmup));
    double rate = simulate(ip, static_cast<uint64_t>(options.iterations));
    for (const char *statistic : {"mean", "p50"})
        print_line("ns3", ip ? "lan-ip" : "lan", "requests/s", statistic, rate);
}

} // namespace

int main(int count, char **arguments)
{
    long seeds = 0;
    const extra_option extra[] = {{"--seeds", &seeds, 1, 100000, nullptr}, {nullptr, nullptr, 0, 0, nullptr}};
    peer_options options = parse_options(count, arguments, extra);
    for (long round = 1; round <= (seeds > 0 ? seeds : options.rounds); round++)
        for (bool ip : {false, true}) {
            if (!case_selected(&options, ip ? "lan-ip" : "lan"))
                continue;
            if (seeds > 0)
                find(ip, static_cast<uint64_t>(round));
            else
                measure(ip, options);
        }
    return 0;
}
