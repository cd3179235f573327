//! The first inputs of each target, written with the product's own encoders.

mod broker;
mod clinda;
mod launch;
mod layers;
mod membership;
mod models;
mod replicated;
mod space;
mod stack;
mod stream;
mod tls;
mod traces;
mod wire;

/// An input with a name that says what it reaches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seed {
    /// The target it is for.
    pub target: &'static str,
    /// The name of its file.
    pub name: &'static str,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Every seed. The same bytes each time.
#[must_use]
pub fn seeds() -> Vec<Seed> {
    [
        wire::headers(),
        wire::journal_entries(),
        stream::frames(),
        tls::greetings(),
        tls::identities(),
        tls::enrolments(),
        space::tuples(),
        space::requests(),
        named("space_managers", quintet_tuple_space::fuzzing::manager_seeds()),
        layers::sessions(),
        layers::ports(),
        layers::messages(),
        named("kernel", quintet_kernel::fuzzing::seeds()),
        space::snapshots(),
        space::logs(),
        space::clients(),
        membership::driven(),
        membership::messages(),
        replicated::driven(),
        replicated::messages(),
        launch::driven(),
        launch::messages(),
        broker::driven(),
        broker::messages(),
        named("isotach", quintet_isotach::fuzzing::seeds()),
        named("isotach_messages", quintet_isotach::fuzzing::bodies()),
        models::files(),
        stack::configurations(),
        traces::parts(),
        clinda::sources(),
        clinda::objects(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn named(target: &'static str, list: Vec<(&'static str, Vec<u8>)>) -> Vec<Seed> {
    list.into_iter().map(|(name, bytes)| Seed { target, name, bytes }).collect()
}
