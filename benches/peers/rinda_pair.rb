#!/usr/bin/ruby
# Peer: Rinda, the tuple space of Ruby's standard library: write puts a tuple, take takes it.
#
# The space is served by DRb in a process of its own on the second processor, and this one, on the first, reaches it over a Unix socket. `pair-64`
# calls the space as any remote object. `pair-64-proxy` goes through TupleSpaceProxy, as the documentation says to: a tuple is not lost if whoever takes
# it ends meanwhile, for which the server calls back with each.

EXIT_USAGE = 64
EXIT_PEER_MISSING = 69

begin
  require "drb"
  require "drb/unix"
  require "fiddle"
  require "json"
  require "optparse"
  require "rinda/rinda"
  require "rinda/tuplespace"
  require "tmpdir"
rescue LoadError
  warn "peer missing: install with: apt-get install ruby"
  exit EXIT_PEER_MISSING
end

PEER = "rinda"
VALUE = ("\x07" * 64).b.freeze
PATTERN = ["pair", nil].freeze
START_TRIES = 5000
PR_SET_PDEATHSIG = 1
SIGKILL = 9

# Of the system, what the standard library has no name for.
LIBRARY = Fiddle.dlopen(nil)
SCHED_SETAFFINITY =
  Fiddle::Function.new(LIBRARY["sched_setaffinity"], [Fiddle::TYPE_INT, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT)
SCHED_GETAFFINITY =
  Fiddle::Function.new(LIBRARY["sched_getaffinity"], [Fiddle::TYPE_INT, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT)
PRCTL = Fiddle::Function.new(LIBRARY["prctl"], [Fiddle::TYPE_INT, Fiddle::TYPE_LONG], Fiddle::TYPE_INT)
MASK_BYTES = 128

# The first two processors that this process may use; one twice where there is only one.
def allowed_processors
  mask = Fiddle::Pointer.malloc(MASK_BYTES, Fiddle::RUBY_FREE)
  mask[0, MASK_BYTES] = "\0" * MASK_BYTES
  SCHED_GETAFFINITY.call(0, MASK_BYTES, mask)
  bits = mask[0, MASK_BYTES].unpack1("b*")
  found = bits.each_char.with_index.filter_map { |bit, processor| processor if bit == "1" }.first(2)
  found.size == 2 ? found : found * 2
end

def pin_to(processor)
  bits = "0" * (8 * MASK_BYTES)
  bits[processor] = "1"
  return if SCHED_SETAFFINITY.call(0, MASK_BYTES, [bits].pack("b*")).zero?

  warn "cannot run on processor #{processor}"
  exit EXIT_USAGE
end

# The options that every peer takes; README.md describes them.
def parse_options
  options = { rounds: 11, warmup: 200, iterations: 2000, cpus: allowed_processors, case: nil }
  parser = OptionParser.new
  parser.require_exact = true
  %i[rounds warmup iterations].each { |name| parser.on("--#{name} N", Integer) { |number| options[name] = number } }
  parser.on("--cpus A,B", Array) { |numbers| options[:cpus] = numbers.map { |number| Integer(number) } }
  parser.on("--case NAME") { |name| options[:case] = name }
  rest = parser.parse(ARGV)
  raise OptionParser::InvalidArgument, "expected options alone" unless rest.empty? && options[:rounds].positive?

  options
rescue OptionParser::ParseError, ArgumentError => e
  warn e.message
  exit EXIT_USAGE
end

# The process of the space, which ends with this one.
def start_server(uri, processor)
  parent = Process.pid
  fork do
    PRCTL.call(PR_SET_PDEATHSIG, SIGKILL)
    exit! if Process.ppid != parent
    pin_to(processor)
    DRb.start_service(uri, Rinda::TupleSpace.new)
    DRb.thread.join
  end
end

# Tries until the server listens, for about five seconds.
def connect(uri)
  remote = DRbObject.new_with_uri(uri)
  tries = 0
  begin
    remote.read_all(PATTERN)
  rescue DRb::DRbConnError
    raise if (tries += 1) > START_TRIES

    sleep 0.001
    retry
  end
  remote
end

def pair(space)
  space.write(["pair", VALUE])
  taken = space.take(PATTERN)
  raise "another value came back" unless taken[1] == VALUE
end

def time_pairs(space, options)
  options[:warmup].times { pair(space) }
  Array.new([options[:iterations], 1].max) do
    started = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    pair(space)
    Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - started
  end
end

def report(name, samples)
  middle = samples.sort[samples.size / 2]
  { "mean" => samples.sum.fdiv(samples.size), "p50" => middle.to_f }.each do |statistic, value|
    puts JSON.generate({ peer: PEER, case: name, unit: "ns", statistic: statistic, value: value.round(3) })
  end
  $stdout.flush
end

def measure(options, folder)
  uri = "drbunix:#{folder}/space"
  server = start_server(uri, options[:cpus][1])
  pin_to(options[:cpus][0])
  # Whoever is called back serves, too.
  DRb.start_service("drbunix:#{folder}/client")
  space = connect(uri)
  cases = { "pair-64" => space, "pair-64-proxy" => Rinda::TupleSpaceProxy.new(space) }
  cases.select! { |name, _| [nil, name].include?(options[:case]) }
  options[:rounds].times { cases.each { |name, through| report(name, time_pairs(through, options)) } }
ensure
  DRb.stop_service
  Process.kill(:KILL, server)
  Process.wait(server)
end

options = parse_options
Dir.mktmpdir("quintet-peer-") { |folder| measure(options, folder) }
