//! The tuple space as a pure protocol: typed tuples, templates, matching, and the manager that keeps them.
//!
//! A **tuple** is an ordered list of typed values; a **template** is one with some values replaced by their types. `out`
//! puts a tuple, `take` takes the oldest one that matches a template, `read` reads it. The manager, [`Space`], is a
//! [`Protocol`](quintet_contract::Protocol): it has no thread, socket or clock, and runs embedded, served or simulated.
//! Everyone who asks it is an address, in this process or on another machine.
//!
//! ```
//! use quintet_contract::{Address, Effects, Input, Protocol, Time, Token};
//! use quintet_tuple_space::{Answer, Request, Space, SpaceConfig, Wait, template, tuple};
//!
//! let (mut space, manager, me) = (Space::new(SpaceConfig::default()), Address::new(0, 16), Address::new(0, 1));
//! let mut ask = |token, request: Request<'_>| {
//!     let mut link = Effects::default();
//!     request.send(&mut link, manager, Token(token), Token(0)).expect("a small request");
//!     for (_, frame) in link.frames() {
//!         space.handle(Time::ZERO, Input::Frame(me, frame.borrow()), &mut link);
//!     }
//!     let (_, answer) = link.frames().pop().expect("these requests are answered at once");
//!     Answer::decode(answer.kind, &answer.body, &answer.bulk).expect("the manager's bytes are good")
//! };
//! assert_eq!(ask(1, Request::Out { deadline: None, tuples: &[tuple!["row", 3i64]], expiries: &[] }), Answer::Done);
//! let row = ask(2, Request::Take { wait: Wait::Forever, lease: None, template: &template!["row", ?i64] });
//! assert_eq!(row, Answer::Tuple(tuple!["row", 3i64], None));
//! ```
//!
//! This crate does not start processes, choose a manager among several, or resend: hosts and `session` do.
//!
//! | file | holds |
//! | --- | --- |
//! | `value.rs`, `array.rs`, `element.rs`, `native.rs` | [`Value`] and what it is made from |
//! | `tuple.rs`, `template.rs`, `range.rs`, `types.rs` | [`Tuple`], [`Template`], [`ValueRange`], [`Type`], [`Signature`] |
//! | `codec.rs` | the layout of every request and answer: read this first to speak to a manager |
//! | `client.rs` | [`Request`]: the asking side, without I/O |
//! | `keyed.rs` | the hash of what others choose |
//! | `space.rs` | [`Space`]: the manager, and what it promises |
//! | `spaces.rs` | [`Spaces`]: any number of named spaces beside the unnamed one |
//! | `managers.rs` | [`Manager`], [`Router`]: one space spread over several managers |
//! | `fuzzing.rs` | what the fuzz targets run |
#![forbid(unsafe_code)]

mod array;
pub mod client;
pub mod codec;
mod element;
pub mod fuzzing;
mod keyed;
mod managers;
mod native;
mod range;
mod space;
mod spaces;
mod template;
mod tuple;
mod types;
mod value;

pub use array::Array;
pub use bytes::Bytes;
pub use bytestring::ByteString;
pub use client::{PlannedRequest, Request, RequestError};
pub use codec::{
    Answer, Attempt, Awaited, Change, Class, ClientState, CodeGrants, Collected, Cursor, Events, FAILED,
    Glimpse, HotKey, LeaseId, ListedLease, ListedTuple, MAX_GLIMPSE_BYTES, MAX_GROUP_USES,
    MAX_PARTITION_NAME_BYTES, MAX_SELECT_TEMPLATES, MAX_TEMPLATE_SHAPES, ManagersNews, NotGranted, Operation,
    Page, PageSize, Partition, Policy, RESERVED_PREFIX, Refusal, Relocation, Routes, Rows, SignatureState,
    SpaceInfo, SpaceName, SpaceNameError, SpaceNumber, SpaceRights, SpaceSettings, SpacesPage, SpacesRequest,
    State, Subject, TemplateShape, TooLarge, TupleEvent, Wait, WaitingRequest, Withheld, Witness,
};
pub use element::{Element, ElementType};
pub use managers::{
    HotKeysConfig, Manager, ManagersConfig, Router, RouterConfig, gone as manager_gone,
    gone_or_its_kernel as manager_gone_or_its_kernel,
};
pub use native::{ArrayOf, Typed};
pub use range::{Bounding, MAX_BOUND_BYTES, MAX_RANGES, ValueRange};
#[cfg(feature = "seeded-defects")]
pub use space::Defect;
pub use space::{
    Books, DEAD_LETTER, EXPIRY_BYTES, MAX_CARRIED_BYTES, MAX_COLLECTED, MAX_INDEX_BYTES, Space, SpaceConfig,
    TUPLE_BYTES, stages,
};
pub use spaces::{KeptSpaces, Spaces, SpacesConfig};
pub use template::{Field, Template};
pub use tuple::{MAX_TUPLE_FIELDS, Tuple};
pub use types::{Signature, Type};
pub use value::{Value, ValueError};
