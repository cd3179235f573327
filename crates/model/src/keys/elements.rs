//! The keys of everything but devices.

use super::Preset::{Otherwise, Required, Value};
use super::Takes::{Count, Draw, Other, Quantity, Switch, Word};
use super::pool::POOL;
use super::{LARGEST_GROUP, LONGEST, MOST, SHORTEST, Table, key};
use crate::dimension::Dimension;

/// Every table of elements but those of devices, in the order of the documentation.
pub const ELEMENTS: [&Table; 6] = [&MODEL, &PARAMETERS, &PROCESSOR, &INSTRUCTIONS, &POOL, &MODULE];

/// What stands behind the actions there.
pub const VALUES: [&Table; 3] = [&DISTRIBUTIONS, &MEASURE, &CHECK];

/// `[model]`.
pub static MODEL: Table = Table {
    heading: "[model]",
    text: "What the run is. Required, though it may be empty but for the name.",
    keys: &[
        key("name", Other("text"), Required, "The model's name."),
        key(
            "end",
            Quantity(Dimension::TIME, 0.0, LONGEST),
            Otherwise("until nothing is left to do"),
            "The simulated time at which a run ends.",
        ),
        key(
            "warm_up",
            Quantity(Dimension::TIME, 0.0, LONGEST),
            Value("0 s"),
            "What happens before is not measured. An activation counts if it became ready later. Below `end`.",
        ),
        key(
            "event_limit",
            Count(1, MOST),
            Value("50_000_000"),
            "Events after which a run ends in any case; its result says so.",
        ),
    ],
};

/// Cores of a processor.
const MOST_CORES: u64 = 1_024;

static PARAMETERS: Table = Table {
    heading: "[parameters]",
    text: "Numbers without unit, usable by name in every quantity.",
    keys: &[key("NAME", Other("a number, or an expression of other parameters"), Required, "A parameter.")],
};

/// `[processor.NAME]`.
pub static PROCESSOR: Table = Table {
    heading: "[processor.NAME]",
    text: "A processing element. It runs the modules that are on it, one at a time, or as many as it has cores.",
    keys: &[
        key(
            "count",
            Count(1, LARGEST_GROUP),
            Otherwise("one, of this name"),
            "So many of it, a group: `NAME-1` to `NAME-COUNT`, all alike. See [Groups](#groups).",
        ),
        key(
            "cores",
            Count(1, MOST_CORES),
            Value("1"),
            "How many modules it runs at a time. Several activations of one module are several: those that are ready first begin first, each on \
             whichever core is free.",
        ),
        key("cycle", Quantity(Dimension::TIME, SHORTEST, LONGEST), Value("1 ps"), "The time of one cycle."),
        key(
            "rate",
            Quantity(Dimension::FREQUENCY, 1e-6, 1e12),
            Otherwise("`cycle`"),
            "Cycles a second, in place of `cycle`.",
        ),
        key(
            "time_slice",
            Quantity(Dimension::TIME, SHORTEST, LONGEST),
            Otherwise("without end"),
            "How long a module executes before another that is ready gets its turn.",
        ),
        key(
            "preempt",
            Word(&["none", "resume"]),
            Value("none"),
            "Resume: a module that becomes ready takes the processor at once from one of smaller `priority`, which goes on later where it was, \
             before others of its priority. None: it waits for its turn.",
        ),
        key(
            "input_controller",
            Switch,
            Value("true"),
            "Whether messages come in while it executes. Without, they wait until it is idle.",
        ),
        key(
            "output_controller",
            Switch,
            Value("true"),
            "Whether it executes on while a device carries what it sends. Without, it is busy until the message is there.",
        ),
        key(
            "io_setup",
            Quantity(Dimension::TIME, 0.0, LONGEST),
            Value("0 s"),
            "What each message to a device costs before the device gets it.",
        ),
        key(
            "interrupt",
            Quantity(Dimension::TIME, 0.0, LONGEST),
            Value("0 s"),
            "What each message from a device costs that comes while it executes.",
        ),
        key(
            "queue_limit",
            Count(0, MOST),
            Otherwise("without limit"),
            "Messages from devices that may wait for a module; those beyond are lost.",
        ),
        key("instructions", Other("a table"), Otherwise("none"), "Its repertoire, see below."),
    ],
};

static INSTRUCTIONS: Table = Table {
    heading: "[processor.NAME.instructions]",
    text: "What the processor can execute, and what one execution costs. At most 256.",
    keys: &[key(
        "NAME",
        Draw(Dimension::CYCLES),
        Required,
        "Cycles, or the time itself, drawn anew for each execution.",
    )],
};

/// `[module.NAME]`.
pub static MODULE: Table = Table {
    heading: "[module.NAME]",
    text: "A modelled program. It waits until all its conditions hold (time, messages, predecessors), which uses them up, does \
           its actions in order, and starts its successors. At least one condition is needed.",
    keys: &[
        key(
            "on",
            Other("a processor"),
            Required,
            "Where it runs. On a group of processors there is one on each.",
        ),
        key(
            "count",
            Count(1, LARGEST_GROUP),
            Otherwise("one, of this name"),
            "So many of it on this one processor, a group: `NAME-1` to `NAME-COUNT`.",
        ),
        key(
            "start",
            Draw(Dimension::TIME),
            Otherwise("\"0 s\" with `every`; else it does not run by itself"),
            "When it runs by itself for the first time.",
        ),
        key(
            "every",
            Draw(Dimension::TIME),
            Otherwise("once, at `start`"),
            "From each such time to the next.",
        ),
        key("limit", Count(1, MOST), Otherwise("without limit"), "How often it runs by itself at most."),
        key(
            "waits_for",
            Other("a table of whole numbers, 1 to 1,000,000, by message"),
            Otherwise("no message"),
            "How many of each message one activation needs: `{ request = 1 }`.",
        ),
        key(
            "after",
            Other("a list of modules"),
            Otherwise("none"),
            "It starts when all of them are done, once more each.",
        ),
        key(
            "after_any",
            Other("a list of modules"),
            Otherwise("none"),
            "It starts whenever one of them is done.",
        ),
        key("do", Other("a list of actions"), Otherwise("nothing"), "What it does, see below."),
        key(
            "then",
            Other("a list of modules"),
            Otherwise("none"),
            "Its successors, on the same processor. A successor that has `after` waits for these too; any other starts whenever one of them is done.",
        ),
        key(
            "then_one_of",
            Other("a table of weights by module"),
            Otherwise("none"),
            "One of them is started, with a probability in proportion to its weight.",
        ),
        key(
            "priority",
            Count(0, 255),
            Value("0"),
            "Of those that are ready on its processor the one of largest priority goes first; of the same priority, the one that was ready first.",
        ),
        key(
            "state",
            Other("a table of numbers, by variable"),
            Otherwise("no variables"),
            "Its variables, each with its first value: numbers that its activations share, for `set` and for formulas.",
        ),
    ],
};

static DISTRIBUTIONS: Table = Table {
    heading: "{ DISTRIBUTION = ... }",
    text: "Takes the place of a quantity where a distribution is allowed. Nothing drawn is negative.",
    keys: &[
        key(
            "constant",
            Other("a quantity"),
            Otherwise("-"),
            "The same each time; the quantity alone says the same.",
        ),
        key("uniform", Other("{ low, high }"), Otherwise("-"), "Evenly between the two."),
        key(
            "normal",
            Other("{ mean, deviation }"),
            Otherwise("-"),
            "Without its negative values: those are drawn again.",
        ),
        key("exponential", Other("{ mean }"), Otherwise("-"), "Times between independent events."),
        key(
            "poisson",
            Other("{ mean }"),
            Otherwise("-"),
            "Counts of independent events; of base units if there is a unit. Not for times.",
        ),
        key(
            "gamma",
            Other("{ shape, scale }"),
            Otherwise("-"),
            "Mean shape times scale; the shape is a number.",
        ),
        key(
            "beta",
            Other("{ a, b, low, high }"),
            Otherwise("-"),
            "Between low and high; a and b are numbers.",
        ),
        key(
            "weibull",
            Other("{ shape, scale }"),
            Otherwise("-"),
            "Times until something fails, with age more often for a shape above 1, less often below; the shape is a number from 0.05 to 1000.",
        ),
        key(
            "pareto",
            Other("{ shape, minimum } or { shape, minimum, maximum }"),
            Otherwise("-"),
            "A heavy tail; the shape is a number from 0.01 to 1000, the smaller the heavier. Without a maximum the variance is infinite for \
             shapes up to 2, so that queues behind it have no mean length, and the mean itself for shapes up to 1, which is warned of.",
        ),
        key(
            "log_normal",
            Other("{ mean, deviation } or { median, sigma }"),
            Otherwise("-"),
            "Its logarithm is normal. Mean and standard deviation are those of the values; sigma, a number up to 10, is that of the natural \
             logarithm.",
        ),
        key(
            "empirical",
            Other(
                "{ values = [[value, weight], ...] }, { cumulative = [[value, probability], ...] } or { file = \"NAME.csv\", unit = \"ms\" }",
            ),
            Otherwise("-"),
            "Measured values. Weighted: these values alone. Cumulative: the curve, straight between its points; the last probability is 1. \
             From a file beside the model: a line each, a number of that unit, and behind a comma its weight, or 1; a first line may be a \
             heading. At most 100,000 lines.",
        ),
    ],
};

/// `[measure.NAME]`.
pub static MEASURE: Table = Table {
    heading: "[measure.NAME]",
    text: "What to measure besides the standard results. One of the four.",
    keys: &[
        key(
            "time",
            Other("{ from = \"MODULE.start\", to = \"MODULE.end\" }"),
            Otherwise("-"),
            "The time from the k-th event of one module to the k-th of another, or the same one.",
        ),
        key(
            "throughput",
            Other("{ of = \"MODULE\", bytes = ... }"),
            Otherwise("-"),
            "Bytes a second, each activation counting for so many; activations a second without `bytes`.",
        ),
        key(
            "interval",
            Other("{ of = \"MODULE\" }"),
            Otherwise("-"),
            "The time between two ends of a module: its cycle time.",
        ),
        key(
            "request",
            Other("{ of = \"MODULE\", ask = \"MESSAGE\" }"),
            Otherwise("-"),
            "The time from each `ask` of a module, or each by that message, until it goes on with the reply: mean, quantiles, count; and how many \
             had no reply in time.",
        ),
    ],
};

static CHECK: Table = Table {
    heading: "[check]",
    text: "Statements about a run, for `quintet explore model`.",
    keys: &[key(
        "NAME",
        Other("two expressions and one of `<` `<=` `==` `!=` `>=` `>` between them, or `ended by itself`"),
        Otherwise("-"),
        "What must hold at the end of each run. See the section on checks.",
    )],
};
