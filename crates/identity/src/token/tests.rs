use super::*;
use proptest::prelude::*;

fn token() -> Token {
    Token::new(0x0123_4567_89ab_cdef, 0).expect("randomness")
}

fn refusal(text: &str) -> TokenTextError {
    text.parse::<Token>().expect_err("it is no token")
}

/// A text with good check bytes.
fn text_of(mut front: Vec<u8>) -> String {
    front.extend(check(&front));
    encode(&front)
}

/// One token for ever, worked out beside this program with Python's `hashlib`, `hmac` and `base64`, and `openssl pkey`.
#[test]
fn a_token_stays_what_it_is_from_version_to_version() {
    let token = Token {
        cluster: 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff,
        node: 5,
        seed: core::array::from_fn(|n| n as u8),
    };
    assert_eq!(token.text(), TEXT);
    let identity: String = token.identity().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(identity, IDENTITY);
}

const TEXT: &str = "aeabci-rtirkw-m54itg-vlxtg5-537qab-iaaeba-gbafay-dqqcik-bmga2d-qpyeja";
const IDENTITY: &str = "baf001cb417059f04e5c22f4a20a29623e41b984d97e44135b411057c0c89dcc";

#[test]
fn a_token_is_read_as_it_is_copied() {
    let token = token();
    let text = token.text();
    for copied in [text.clone(), text.to_uppercase(), text.replace('-', ""), format!("  {text}\n")] {
        assert_eq!(copied.parse(), Ok(token.clone()));
    }
}

#[test]
fn what_is_wrong_with_a_text_is_said() {
    let text = token().text();
    assert_eq!(refusal(""), TokenTextError::TooShort { characters: 0 });
    assert_eq!(refusal(&text[..20]), TokenTextError::TooShort { characters: 18 });
    assert_eq!(refusal(&format!("{text}{text}")), TokenTextError::TooLong { characters: 2 * CHARACTERS });
    assert_eq!(refusal(&format!("0{}", &text[1..])), TokenTextError::Stray { character: '0' });
    assert_eq!(refusal(&format!("ä{}", &text[1..])), TokenTextError::Stray { character: 'ä' });
    let other = text_of([&[2][..], &token().front()[1..]].concat());
    assert_eq!(refusal(&other), TokenTextError::OtherVersion { version: 2 });
    let longer = text_of([&[3][..], &token().front()[1..], &[7; 9]].concat());
    assert_eq!(refusal(&longer), TokenTextError::OtherVersion { version: 3 });
    assert!(refusal(&text[..20]).to_string().contains("18 letters and digits of 60"));
}

#[test]
fn two_tokens_are_two_keys_and_so_is_one_seed_in_two_clusters() {
    let (one, other) = (token(), token());
    assert_ne!(one.identity(), other.identity());
    let elsewhere = Token { cluster: 7, ..one.clone() };
    assert_ne!(one.identity(), elsewhere.identity());
    assert_eq!(one.identity(), one.text().parse::<Token>().expect("its own text").identity());
}

#[test]
fn nothing_that_is_shown_has_the_seed() {
    let token = Token { cluster: 1, node: 2, seed: *b"seedseedseedseed" };
    assert_eq!(format!("{token:?}"), "Token { cluster: 1, node: 2, .. }");
}

proptest! {
    #[test]
    fn one_mistyped_letter_is_found(at in 0..CHARACTERS, by in 1..32usize) {
        let text = token().text().replace('-', "");
        let place = ALPHABET.iter().position(|own| *own == text.as_bytes()[at]).expect("one of a token's");
        let other = char::from(ALPHABET[(place + by) % 32]);
        let mistyped = format!("{}{other}{}", &text[..at], &text[at + 1..]);
        // One in 65,536 is not found: it is another token then, which nobody knows.
        let read = mistyped.parse::<Token>();
        prop_assert!(read.is_err() || read != text.parse(), "{read:?}");
    }

    #[test]
    fn no_text_is_a_panic(text in ".{0,100}") {
        let _ = text.parse::<Token>();
    }
}
