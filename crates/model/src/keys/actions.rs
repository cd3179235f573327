//! The keys of the actions of `do`.

use super::Preset::{Otherwise, Required, Value};
use super::Takes::{Count, Draw, Other};
use super::pool::USE_ACTION;
use super::{CLASS, Table, key};
use crate::dimension::Dimension;

/// Every action, by the key that tells it from the others, in the order of the documentation.
pub const ACTIONS: [(&str, &Table); 12] = [
    ("execute", &EXECUTE),
    ("use", &USE_ACTION),
    ("send", &SEND),
    ("ask", &ASK),
    ("reply", &REPLY),
    ("wait", &WAIT),
    ("pause", &PAUSE),
    ("set", &SET),
    ("if", &IF),
    ("while", &WHILE),
    ("repeat", &REPEAT),
    ("cancel", &CANCEL),
];

const THROUGH: super::Key = key(
    "through",
    Other("a device or a network"),
    Otherwise(
        "within a processor nothing: without delay; between two the one that joins them, if there is one only",
    ),
    "What carries it. Both processors must be stations of it.",
);
const ROUTE: super::Key = key(
    "route",
    Other("a list of links"),
    Otherwise("the way of the least cost"),
    "Over which links of a network it goes, in order, by switches only. A group of links stands for that of them which leads on from where \
     the way is, the last one for that which leads to the receiver.",
);
const BYTES: super::Key = key(
    "bytes",
    Draw(Dimension::DATA),
    Value("0 B"),
    "Its length; rounded to whole bytes, 4,294,967,295 at most.",
);
const TO: super::Key = key(
    "to",
    Other("a module"),
    Required,
    "Who gets it. Of a group: `NAME`, `NAME.next` or `NAME.each`, see [Groups](#groups).",
);
const TIMEOUT: super::Key = key(
    "timeout",
    Draw(Dimension::TIME),
    Otherwise("as long as it takes"),
    "How long it waits at most. It goes on when the processor is free for it.",
);
const LATE: super::Key = key(
    "late",
    Other("a list of actions"),
    Otherwise("nothing"),
    "What it does if that is over; it goes on behind this action in any case.",
);

const URGENCY: super::Key = key(
    "class",
    CLASS,
    Value("asynchronous"),
    "Synchronous: within the sender's synchronous allocation, on a token ring only, which `through` names.",
);

static EXECUTE: Table = Table {
    heading: "do = [{ execute = ... }]",
    text: "Executes an instruction of the processor.",
    keys: &[
        key("execute", Other("an instruction"), Required, "Which."),
        key(
            "times",
            Draw(Dimension::NUMBER),
            Value("1"),
            "How often; rounded to a whole number, 4,294,967,295 at most. What varies is drawn anew for each of a fixed number of times up to 10,000; \
             else once for all.",
        ),
    ],
};

static SEND: Table = Table {
    heading: "do = [{ send = ... }]",
    text: "Sends a message to a module that waits for it. It belongs to the request, if there is one, for which the sender works.",
    keys: &[
        key("send", Other("a message"), Required, "Its name."),
        TO,
        BYTES,
        THROUGH,
        ROUTE,
        key("times", Count(0, 10_000), Value("1"), "How many of it, one behind the other."),
        URGENCY,
    ],
};

static ASK: Table = Table {
    heading: "do = [{ ask = ... }]",
    text: "Begins a request: sends a message, and waits for the reply to it, while others use the processor. A reply that comes too late is forgotten.",
    keys: &[
        key("ask", Other("a message"), Required, "Its name."),
        TO,
        BYTES,
        THROUGH,
        ROUTE,
        URGENCY,
        TIMEOUT,
        LATE,
    ],
};

static REPLY: Table = Table {
    heading: "do = [{ reply = ... }]",
    text: "Ends a request: answers whoever asked for what this module does, over however many modules that sent it on. Nothing happens if nobody did.",
    keys: &[
        key("reply", Other("a name"), Required, "What it is; any name, for those who read the model."),
        BYTES,
        key(
            "through",
            Other("a device"),
            Otherwise("the way between the two that there is"),
            "What carries it, to one who has sent this module nothing itself.",
        ),
        URGENCY,
    ],
};

static WAIT: Table = Table {
    heading: "do = [{ wait = ... }]",
    text: "Waits in the midst for a message, while others use the processor. Of several activations the one gets it that works for the same request, \
           or else the one that began first. A message that came before is not lost.",
    keys: &[key("wait", Other("a message"), Required, "Which."), TIMEOUT, LATE],
};

static PAUSE: Table = Table {
    heading: "do = [{ pause = ... }]",
    text: "Waits for a time, while others use the processor.",
    keys: &[key("pause", Draw(Dimension::TIME), Required, "How long; rounded to whole nanoseconds.")],
};

static SET: Table = Table {
    heading: "do = [{ set = ... }]",
    text: "Gives a variable of the module a value, when what stands before is done.",
    keys: &[
        key("set", Other("a variable of `state`"), Required, "Which."),
        key("value", Other("a formula"), Required, "Its new value: a number without unit."),
    ],
};

static IF: Table = Table {
    heading: "do = [{ if = ... }]",
    text: "Does one of two things.",
    keys: &[
        key("if", Other("a formula"), Required, "The condition, looked at when what stands before is done."),
        key("do", Other("a list of actions"), Required, "What it does if that holds."),
        key("else", Other("a list of actions"), Otherwise("nothing"), "What it does if not."),
    ],
};

static WHILE: Table = Table {
    heading: "do = [{ while = ... }]",
    text: "Does something again and again.",
    keys: &[
        key(
            "while",
            Other("a formula"),
            Required,
            "As long as that holds; it is looked at before each turn.",
        ),
        key("do", Other("a list of actions"), Required, "What."),
    ],
};

static REPEAT: Table = Table {
    heading: "do = [{ repeat = ... }]",
    text: "Does something so often.",
    keys: &[
        key("repeat", Other("a formula"), Required, "How often: computed once, and rounded."),
        key("do", Other("a list of actions"), Required, "What."),
    ],
};

static CANCEL: Table = Table {
    heading: "do = [{ cancel = ... }]",
    text: "Ends what another module does for the same request: activations of it that wait at `ask`, `wait`, `pause` or `use`, or for room in the `window` of \
           what carries a message, and those behind these. What stands in line for the processor is not ended, and a pool goes on to the end with what \
           it was asked for. One that works for no request ends all that wait.",
    keys: &[
        key("cancel", Other("a module"), Required, "Whose. Of a group: `NAME`, `NAME.next` or `NAME.each`."),
        THROUGH,
    ],
};
