//! Every limit of a launcher. What is above one is refused before anything is kept of it.

pub use quintet_wire::services::process::{
    MAX_COMMAND_BYTES, MAX_FILE_BYTES, MAX_FILES, MAX_HASHES, MAX_JOB_BYTES, MAX_NAME_BYTES, MAX_PATH_BYTES,
    MAX_RUNNING, MAX_START_BYTES, MAX_WORD_BYTES, MAX_WORDS,
};

/// Processes of a node, from their start until their end was told.
pub const MAX_PROCESSES: usize = 1024;
/// Jobs of a node.
pub const MAX_JOBS: usize = 256;
/// Requests that wait for the host, of all peers together.
pub const MAX_ERRANDS: usize = 1024;
/// Bytes of files that are on their way to the host, of all peers together; one file of [`MAX_FILE_BYTES`] may be in any case.
pub const MAX_STORING_BYTES: usize = 2 * MAX_FILE_BYTES;
/// Identities of which is said what they may.
pub const MAX_GRANTS: usize = 1024;
/// Bytes of a piece of output: what a stream has at most here that nobody has asked for so far.
pub const PIECE_BYTES: usize = 16_000;
/// Bytes of the answer that tells what happened.
pub const MAX_BATCH_BYTES: usize = 65_000;
/// Happenings of one answer.
pub const MAX_HAPPENINGS: usize = 4096;
/// Bytes of the version's text.
pub const MAX_VERSION_BYTES: usize = 64;

const _: () = {
    assert!(
        PIECE_BYTES <= quintet_wire::services::process::MAX_OUTPUT_BYTES,
        "the host reads so much at once"
    );
    assert!(4 * (PIECE_BYTES + 14) + 5 <= MAX_BATCH_BYTES, "four pieces go in one answer");
    // An end takes 11 bytes; output of one byte 15.
    assert!(MAX_HAPPENINGS * 11 + 5 <= MAX_BATCH_BYTES, "ends alone fill no answer before they are too many");
    // The numbers of a process take 100 bytes at most, an identity 33.
    let process = 100 + 33 + 3 * 4 + MAX_COMMAND_BYTES + MAX_JOB_BYTES + MAX_NAME_BYTES;
    assert!(MAX_RUNNING * process + 6 <= quintet_contract::limits::MAX_PAYLOAD_BYTES, "they are one frame");
    assert!(MAX_GRANTS * 34 + 5 <= quintet_contract::limits::MAX_PAYLOAD_BYTES, "grants are one frame");
};
