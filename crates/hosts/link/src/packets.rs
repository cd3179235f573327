//! How many writes a frame is sent with.

/// How many writes a frame is sent with, over a Unix socket, TCP or TLS. Other links have no writes, and are the same with both.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Packets {
    /// As few as can be: all frames of a burst together.
    #[default]
    One,
    /// Two for each frame: its header, whose length is fixed, and then the rest. That is what the system of J. L. Christian's report (Virginia Tech, 1997)
    /// did before it was changed, and is here so that its measurement can be made again: nothing else is better for it. What the socket does not take at
    /// once goes as it can.
    Two,
}
