//! The entry points.

use quintet_clinda::{Expanded, Hoist, Object, Optimisations, Program, Source, Unit, Whole};
use quintet_contract::limits::{HEADER_BYTES, MAX_FRAME_BYTES};
use quintet_identity::{Authority, Enrolling, Token, Validity};
use quintet_link::Credentials;
use quintet_model::Model;
use quintet_perfetto::{Move, moments, moved};
use quintet_resume::{ResumeLimits, ResumedConfig};
use quintet_stack::{SpaceRequests, StackConfig};
use quintet_tuple_space::{KeptSpaces, Policy, Space, SpaceConfig, Spaces, SpacesConfig};
use quintet_wire::journal::Entry;
use quintet_wire::{Decode, Header, encode_to_vec};
use std::sync::OnceLock;

/// One entry point.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: of the fuzz target and of the folder in `fuzz/corpus`.
    pub name: &'static str,
    /// Takes any bytes; panics only if there is a defect.
    pub run: fn(&[u8]),
}

/// Every entry point.
pub const TARGETS: [Target; 31] = [
    Target { name: "header", run: header },
    Target { name: "journal_entry", run: journal_entry },
    Target { name: "stream", run: quintet_link::fuzzing::frames },
    Target { name: "tls", run: tls },
    Target { name: "identity", run: identity },
    Target { name: "enrolment", run: enrolment },
    Target { name: "tuple", run: quintet_tuple_space::fuzzing::tuple },
    Target { name: "space_requests", run: quintet_tuple_space::fuzzing::requests },
    Target { name: "space_managers", run: quintet_tuple_space::fuzzing::managers },
    Target { name: "session", run: quintet_session::fuzzing::drive },
    Target { name: "ports", run: quintet_session::fuzzing::drive_ports },
    Target { name: "kernel", run: quintet_kernel::fuzzing::drive },
    Target { name: "messaging", run: quintet_messaging::fuzzing::drive },
    Target { name: "space_snapshot", run: quintet_tuple_space::fuzzing::snapshot },
    Target { name: "space_log", run: space_log },
    Target { name: "resumed_clients", run: resumed_clients },
    Target { name: "membership", run: quintet_membership::fuzzing::drive },
    Target { name: "membership_messages", run: quintet_membership::fuzzing::decode },
    Target { name: "replicated", run: replicated },
    Target { name: "replicated_messages", run: quintet_replicated::fuzzing::decode },
    Target { name: "launch", run: quintet_launch::fuzzing::drive },
    Target { name: "launch_messages", run: quintet_launch::fuzzing::decode },
    Target { name: "broker", run: quintet_broker::fuzzing::drive },
    Target { name: "broker_messages", run: quintet_broker::fuzzing::decode },
    Target { name: "isotach", run: quintet_isotach::fuzzing::drive },
    Target { name: "isotach_messages", run: quintet_isotach::fuzzing::decode },
    Target { name: "model", run: model },
    Target { name: "stack_config", run: stack_config },
    Target { name: "trace_part", run: trace_part },
    Target { name: "clinda", run: clinda },
    Target { name: "clinda_object", run: clinda_object },
];

/// Reads the bytes as the records of a space's log, and goes on where they end.
pub fn space_log(bytes: &[u8]) {
    quintet_durable::fuzzing::log(bytes, &SpaceConfig::default(), |config| Space::new(*config));
}

/// Reads the bytes as what a client says of itself, and as a space with clients that come back.
pub fn resumed_clients(bytes: &[u8]) {
    let (space, spaces) = (SpaceConfig::default(), SpacesConfig::default());
    let inner = KeptSpaces { space, spaces, policy: Policy::Logged, is_restricted: false };
    let config = ResumedConfig { limits: ResumeLimits::default(), inner };
    quintet_resume::fuzzing::words(bytes);
    quintet_resume::fuzzing::snapshot::<Spaces, SpaceRequests>(bytes, &config);
}

/// Has a replica of a space hear what the bytes say.
pub fn replicated(bytes: &[u8]) {
    quintet_replicated::fuzzing::drive(bytes, &SpaceConfig::default(), |config| Space::new(*config));
}

/// Events of a run of a model that some input happens to be.
const MODEL_EVENTS: u32 = 300;

/// Reads the bytes as a model file, and runs the model for a moment if it is one.
pub fn model(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    if let Ok(model) = Model::from_str(text, "input") {
        let run = model.with("event_limit", MODEL_EVENTS).run(1);
        run.map(|result| result.quantities()).expect("a smaller limit does no harm to a good model");
    }
}

/// Compiles the bytes as a source in C-Linda, as it is and as if a preprocessor had written it.
///
/// # Panics
/// If the C has fewer lines than the source, or an error is told at none of its lines.
pub fn clinda(bytes: &[u8]) {
    let Ok(source) = Source::new("input.cl", bytes.to_vec()) else { return };
    for expanded in [Expanded::unexpanded(&source), Expanded::new(source.text().to_owned())] {
        match Unit::read(source.clone(), &expanded) {
            Ok(unit) => {
                let program = Program::new(vec![unit]);
                for hoist in [Hoist::Nothing, Hoist::PutsAndReads] {
                    let optimisations = Optimisations { hoist, fuses: hoist != Hoist::Nothing };
                    let lines = program.emit_optimised(optimisations)[0].lines().count();
                    assert!(lines >= source.text().lines().count(), "every line stays where it was");
                }
                let _ = (program.analysis().to_string(), program.check());
            }
            Err(found) => {
                assert!(found.iter().all(|error| !error.to_string().is_empty() && error.place.line > 0));
            }
        }
    }
}

/// Reads the bytes as an object or a library with notes of C-Linda, and looks at these as a program.
///
/// # Panics
/// If a warning of it has no words.
pub fn clinda_object(bytes: &[u8]) {
    let Ok(object) = Object::read(bytes) else { return };
    let whole = Whole::new(object.notes, object.is_unknown);
    let _ = (whole.analysis().to_string(), whole.emit());
    assert!(whole.check().iter().all(|found| !found.to_string().is_empty()));
}

/// Reads the bytes as what somebody says who connects over TLS.
///
/// # Panics
/// If that lets them in.
pub fn tls(bytes: &[u8]) {
    static CREDENTIALS: OnceLock<Credentials> = OnceLock::new();
    let credentials = CREDENTIALS.get_or_init(|| {
        let identity = Authority::new().and_then(|authority| authority.issue("a", Validity::days(1)));
        Credentials::from_pem(identity.expect("randomness").as_bytes()).expect("it is valid now")
    });
    quintet_link::fuzzing::greeting(credentials, bytes);
}

/// Reads the bytes as the text of an identity.
pub fn identity(bytes: &[u8]) {
    let _ = Credentials::from_pem(bytes);
    let _ = Credentials::of_token(bytes, 1);
    let _ = quintet_identity::validity(bytes);
    let _ = Enrolling::renewing(bytes, "a");
}

/// Reads the bytes as a token, as what somebody says who asks for a certificate, and as the certificate that was asked for.
///
/// # Panics
/// If a token is another one after it was written and read again, or a certificate is taken that nobody has signed here.
pub fn enrolment(bytes: &[u8]) {
    static SIDES: OnceLock<(Authority, Enrolling)> = OnceLock::new();
    let (authority, enrolling) = SIDES.get_or_init(|| {
        let authority = Authority::new().expect("randomness");
        let token = Token::new(authority.cluster_number(), 0).expect("randomness");
        (authority, Enrolling::new(&token, "a").expect("randomness"))
    });
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    if let Ok(token) = text.parse::<Token>() {
        assert_eq!(token.text().parse(), Ok(token));
    }
    let _ = authority.sign(text, &[7; 32], "a", Validity::days(1));
    assert!(enrolling.finish(text, authority.certificate()).is_err(), "nobody has signed that");
}

/// Reads the first bytes as a frame header. What can be read is the same when written again.
///
/// # Panics
/// If it is not: a defect of the codec.
pub fn header(bytes: &[u8]) {
    let Some((front, _)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return };
    let limit = u32::try_from(MAX_FRAME_BYTES).expect("a frame's length travels as u32");
    if let Ok(header) = Header::from_bytes(front, limit) {
        assert_eq!(&header.to_bytes(), front);
    }
}

/// Reads the bytes as an entry of a recording. What can be read is the same after it was written and read again.
///
/// # Panics
/// If it is not: a defect of the codec.
pub fn journal_entry(bytes: &[u8]) {
    if let Ok(entry) = Entry::decode_all(bytes) {
        let again = encode_to_vec(&entry);
        assert_eq!(Entry::decode_all(&again), Ok(entry));
    }
}

/// Reads the bytes as a part of a trace. What can be read is written as it was under its own numbers, and keeps its moments under others.
///
/// # Panics
/// If it is or does not: a defect.
pub fn trace_part(bytes: &[u8]) {
    let how = Move { time: &|at| at, machine: 3, sequence: 9, suffix: " on b" };
    if let (Ok(before), Ok(other)) = (moments(bytes), moved(bytes, &how)) {
        assert_eq!(moments(&other), Ok(before));
    }
}

/// Reads the bytes as the configuration of a stack. What can be read is the same after it was written and read again.
///
/// # Panics
/// If it is not: a defect of the codec.
pub fn stack_config(bytes: &[u8]) {
    if let Ok(config) = StackConfig::from_bytes(bytes) {
        assert_eq!(StackConfig::from_bytes(&config.to_bytes()), Ok(config));
    }
}
