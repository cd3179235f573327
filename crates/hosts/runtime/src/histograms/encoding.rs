//! A histogram as a field of an interval log: HdrHistogram's encoding V2, in a zlib stream, in base 64, as the tools read it
//! (`AbstractHistogram.encodeIntoCompressedByteBuffer` of <https://github.com/HdrHistogram/HdrHistogram>).
//!
//! The zlib stream is of stored blocks (RFC 1951, 3.2.4): runs of zeros are short in V2 already, and a library that compresses would be a dependency of
//! every program that uses this.

use hdrhistogram::Histogram;

/// Of V2, and of V2 in a zlib stream; the last hexadecimal digit but one says that counts are of variable length.
const COOKIE: u32 = 0x1c84_9313;
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
/// RFC 1950: deflate, with a window of 32 KiB, not compressed.
const ZLIB_HEADER: [u8; 2] = [0x78, 0x01];
/// Bytes of a stored block.
const MAX_STORED: usize = 0xffff;

/// The histogram in base 64.
pub(super) fn encode(histogram: &Histogram<u64>) -> String {
    let stream = zlib_stored(&v2(histogram));
    let length = u32::try_from(stream.len()).expect("a histogram has less than 4 GiB");
    base64(&[&COMPRESSED_COOKIE.to_be_bytes()[..], &length.to_be_bytes(), &stream].concat())
}

/// Not compressed: a header, and the counts in the order of their values, up to the last that is not 0.
fn v2(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut counts: Vec<u64> = histogram.iter_all().map(|value| value.count_at_value()).collect();
    let end = counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
    counts.truncate(end);
    let payload = payload(&counts);
    let length = u32::try_from(payload.len()).expect("a histogram has less than 4 GiB");
    let mut bytes = Vec::with_capacity(40 + payload.len());
    bytes.extend_from_slice(&COOKIE.to_be_bytes());
    bytes.extend_from_slice(&length.to_be_bytes());
    // The counts are not moved against their values.
    bytes.extend_from_slice(&0_u32.to_be_bytes());
    bytes.extend_from_slice(&u32::from(histogram.sigfig()).to_be_bytes());
    bytes.extend_from_slice(&histogram.low().to_be_bytes());
    bytes.extend_from_slice(&histogram.high().to_be_bytes());
    // Values are whole numbers.
    bytes.extend_from_slice(&1_f64.to_be_bytes());
    bytes.extend_from_slice(&payload);
    bytes
}

/// Counts as numbers of variable length; several zeros are one negative number.
fn payload(counts: &[u64]) -> Vec<u8> {
    let mut payload = Vec::new();
    for run in counts.chunk_by(|one, next| *one == 0 && *next == 0) {
        let number = match run {
            [count] => i64::try_from(*count).unwrap_or(i64::MAX),
            zeros => -i64::try_from(zeros.len()).expect("it is in memory"),
        };
        zig_zag(number, &mut payload);
    }
    payload
}

/// Seven bits a byte, the least first, of the number with its sign at the end; the ninth byte has eight.
fn zig_zag(number: i64, into: &mut Vec<u8>) {
    let mut left = ((number << 1) ^ (number >> 63)).cast_unsigned();
    for _ in 0..8 {
        if left < 0x80 {
            break;
        }
        into.push(left as u8 | 0x80);
        left >>= 7;
    }
    into.push(left as u8);
}

fn zlib_stored(bytes: &[u8]) -> Vec<u8> {
    let mut stream = ZLIB_HEADER.to_vec();
    let blocks = bytes.chunks(MAX_STORED);
    let last = blocks.len() - 1;
    for (number, block) in blocks.enumerate() {
        let length = u16::try_from(block.len()).expect("a block has so many at most");
        stream.push(u8::from(number == last));
        stream.extend_from_slice(&length.to_le_bytes());
        stream.extend_from_slice(&(!length).to_le_bytes());
        stream.extend_from_slice(block);
    }
    stream.extend_from_slice(&adler32(bytes).to_be_bytes());
    stream
}

/// RFC 1950, 9.
fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (low, high) = bytes.iter().fold((1, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % MODULUS;
        (low, (high + low) % MODULUS)
    });
    high << 16 | low
}

/// RFC 4648, 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, at| bits << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_what_their_documents_say() {
        for (plain, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), text);
        }
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
        let encoded = |number| {
            let mut bytes = Vec::new();
            zig_zag(number, &mut bytes);
            bytes
        };
        assert_eq!(
            [encoded(0), encoded(-1), encoded(1), encoded(64)],
            [vec![0], vec![1], vec![2], vec![0x80, 1]]
        );
        assert_eq!(encoded(i64::MIN), [0xff; 9]);
        assert_eq!(payload(&[3, 0, 1, 0, 0, 0, 2]), [6, 0, 2, 5, 4]);
    }

    #[test]
    fn a_histogram_is_what_the_tools_read() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 1_800_000_000_000, 3).expect("good bounds");
        [1, 1, 5, 2_047, 2_048, 1_000_000]
            .iter()
            .for_each(|value| histogram.record(*value).expect("it fits"));
        let bytes = v2(&histogram);
        assert_eq!(bytes[..16], [0x1c, 0x84, 0x93, 0x13, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 3]);
        // Value 0 and 3 others before 5; 2,047 is the last with a place of its own, 2,048 shares one with 2,049.
        let after = [0, 4, 0x05, 2, 0xf1, 0x1f, 2, 2];
        assert_eq!(bytes[40..48], after, "{:?}", &bytes[40..]);
        assert!(encode(&histogram).starts_with("HISTFAAAA"));
    }

    #[test]
    fn a_stream_has_as_many_blocks_as_it_needs() {
        let long = vec![7; MAX_STORED + 1];
        let stream = zlib_stored(&long);
        assert_eq!(stream[..7], [0x78, 1, 0, 0xff, 0xff, 0, 0]);
        assert_eq!(stream[7 + MAX_STORED..][..6], [1, 1, 0, 0xfe, 0xff, 7]);
        assert_eq!(stream.len(), 2 + 5 + MAX_STORED + 5 + 1 + 4);
    }
}
