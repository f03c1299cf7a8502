//! Cuts the text of a formula into tokens with byte spans.

use super::Complaint;
use std::ops::Range;

/// One word of a formula.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Token {
    Number(f64),
    /// The text of the span.
    Name,
    /// `v.` and a name; the name begins two bytes into the span.
    Velocity,
    Plus,
    Minus,
    Star,
    Slash,
    Caret,
    Open,
    Close,
    Comma,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    End,
}

/// A token and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Placed {
    pub token: Token,
    pub span: Range<usize>,
}

/// Whether `text` can name a parameter, coordinate or table.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(starts_name) && text.chars().all(continues_name)
}

fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// All tokens of `text`, the last of which is [`Token::End`]; with `columns`, names may have points, `gap.floor`, and whatever else
/// between quotes, `'gap.wall-1'`.
pub(crate) fn tokenize(text: &str, columns: bool) -> Result<Vec<Placed>, Complaint> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        if columns && c == '\'' {
            let inside = at + 1;
            let Some(length) = text[inside..].find('\'').filter(|length| *length > 0) else {
                let complaint = Complaint::new(at..inside, "no name stands between quotes here");
                return Err(complaint.help("a column is written `'impulse.wall-1'`"));
            };
            tokens.push(Placed {
                token: Token::Name,
                span: inside..inside + length,
            });
            at = inside + length + 1;
            continue;
        }
        let (token, length) = next(text, at, c, columns)?;
        tokens.push(Placed {
            token,
            span: at..at + length,
        });
        at += length;
    }
    tokens.push(Placed {
        token: Token::End,
        span: at..at,
    });
    Ok(tokens)
}

/// The token at byte `at`, which begins with `c`, and its length.
fn next(text: &str, at: usize, c: char, columns: bool) -> Result<(Token, usize), Complaint> {
    let rest = &text[at..];
    let simple = |token| Ok((token, 1));
    match c {
        '+' => simple(Token::Plus),
        '-' => simple(Token::Minus),
        '*' if rest.starts_with("**") => Err(Complaint::new(at..at + 2, "unknown operator `**`")
            .help("powers are written `^`, e.g. `x^2`")),
        '*' => simple(Token::Star),
        '/' => simple(Token::Slash),
        '^' => simple(Token::Caret),
        '(' => simple(Token::Open),
        ')' => simple(Token::Close),
        ',' => simple(Token::Comma),
        '<' if rest.starts_with("<=") => Ok((Token::LessEqual, 2)),
        '>' if rest.starts_with(">=") => Ok((Token::GreaterEqual, 2)),
        '<' => simple(Token::Less),
        '>' => simple(Token::Greater),
        '0'..='9' => number(text, at),
        '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => number(text, at),
        _ if starts_name(c) && columns => Ok((Token::Name, column(text, at))),
        _ if starts_name(c) => name(text, at),
        _ => Err(unexpected(at, c, rest)),
    }
}

fn number(text: &str, at: usize) -> Result<(Token, usize), Complaint> {
    let bytes = text.as_bytes();
    let digits = |mut i: usize| {
        while bytes.get(i).is_some_and(u8::is_ascii_digit) {
            i += 1;
        }
        i
    };
    let mut end = digits(at);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        // `2e` is the number 2 and a name, which the parser will complain about.
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    match text[at..end].parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((Token::Number(value), end - at)),
        _ => Err(Complaint::new(
            at..end,
            format!(
                "`{}` is not a number that can be represented",
                &text[at..end]
            ),
        )),
    }
}

/// The length of the name of a column at byte `at`: words with points between them.
fn column(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let mut end = 0;
    loop {
        end += rest[end..]
            .find(|c| !continues_name(c))
            .unwrap_or(rest.len() - end);
        match rest[end..].strip_prefix('.') {
            Some(after) if after.starts_with(continues_name) => end += 1,
            _ => return end,
        }
    }
}

fn name(text: &str, at: usize) -> Result<(Token, usize), Complaint> {
    let length = |from: usize| {
        text[from..]
            .find(|c| !continues_name(c))
            .unwrap_or(text.len() - from)
    };
    let first = length(at);
    let word = &text[at..at + first];
    let rest = &text[at + first..];
    if !rest.starts_with('.') {
        return Ok((Token::Name, first));
    }
    let after = at + first + 1;
    let named = text[after..].starts_with(starts_name);
    match (word, named) {
        ("v", true) => Ok((Token::Velocity, 2 + length(after))),
        ("v", false) => Err(Complaint::new(
            at..after,
            "`v.` is not followed by the name of a coordinate",
        )
        .help("velocities are written `v.name`")),
        (_, true) => {
            let end = after + length(after);
            Err(
                Complaint::new(at..end, format!("unknown symbol `{}`", &text[at..end]))
                    .help("coordinates are written `name`, velocities `v.name`"),
            )
        }
        (_, false) => Err(unexpected(after - 1, '.', rest)),
    }
}

/// How conditions are combined.
pub(super) const BOTH: &str =
    "where both `a < b` and `c < d` are to hold, write `if(a < b, if(c < d, 1, 0), 0) > 0`";
const EITHER: &str =
    "where `a < b` or `c < d` is to hold, write `if(a < b, 1, if(c < d, 1, 0)) > 0`";

/// What is to be written in the place of a word that combines conditions in other languages.
pub(super) fn combination(word: &str) -> Option<&'static str> {
    match word.to_ascii_lowercase().as_str() {
        "and" => Some(BOTH),
        "or" => Some(EITHER),
        _ => None,
    }
}

fn unexpected(at: usize, c: char, rest: &str) -> Complaint {
    let help = match c {
        '=' | '!' => Some(
            "the comparisons are `<`, `<=`, `>` and `>=`; a value between two steps is met by none of them, but passed by one",
        ),
        '&' => Some(BOTH),
        '|' => Some(EITHER),
        '×' | '·' | '⋅' => Some("a product is written `*`"),
        '−' | '–' => Some("the minus sign is `-`"),
        '[' | '{' => Some("only parentheses group"),
        '²' | '³' => Some("powers are written `^`, e.g. `x^2`"),
        '°' => Some("angles are in radians: degrees are written `*pi/180`"),
        '.' if rest.len() == 1 => Some("the formula ends with a point"),
        _ => None,
    };
    let complaint = Complaint::new(
        at..at + c.len_utf8(),
        format!("unexpected character `{}`", c.escape_debug()),
    );
    match help {
        Some(help) => complaint.help(help),
        None => complaint,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_value_and_length() {
        for (text, value, length) in [
            ("0.5", 0.5, 3),
            (".5", 0.5, 2),
            ("5.", 5.0, 2),
            ("1e-3", 1e-3, 4),
            ("1E+3x", 1e3, 4),
            ("2e", 2.0, 1),
            ("2e+", 2.0, 1),
        ] {
            let tokens = tokenize(text, false).unwrap();
            assert_eq!(
                tokens[0],
                Placed {
                    token: Token::Number(value),
                    span: 0..length
                },
                "{text}"
            );
        }
        assert!(
            tokenize("1e999", false)
                .unwrap_err()
                .message
                .contains("1e999")
        );
    }

    #[test]
    fn velocities_are_one_token() {
        let tokens = tokenize("v.θ_1 *v", false).unwrap();
        let kinds: Vec<Token> = tokens.iter().map(|p| p.token).collect();
        assert_eq!(
            kinds,
            [Token::Velocity, Token::Star, Token::Name, Token::End]
        );
        assert_eq!(tokens[0].span, 0.."v.θ_1".len());
        assert_eq!(tokenize("2 + v.", false).unwrap_err().span, 4..6);
        assert!(
            tokenize("q.x", false)
                .unwrap_err()
                .help
                .unwrap()
                .contains("v.name")
        );
    }

    #[test]
    fn foreign_operators_are_explained() {
        assert!(
            tokenize("x**2", false)
                .unwrap_err()
                .help
                .unwrap()
                .contains('^')
        );
        assert!(
            tokenize("x == 2", false)
                .unwrap_err()
                .help
                .unwrap()
                .contains("<=")
        );
        assert!(
            tokenize("2·x", false)
                .unwrap_err()
                .help
                .unwrap()
                .contains('*')
        );
    }
}
