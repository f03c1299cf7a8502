//! Builds the syntax tree of a formula.
//!
//! ```text
//! condition = sum [ ("<" | "<=" | ">" | ">=") sum ]
//! sum       = product { ("+" | "-") product }
//! product   = signed { ("*" | "/") signed }
//! signed    = ("-" | "+") signed | power
//! power     = primary [ "^" signed ]
//! primary   = number | name | "v." name | name "(" [ condition { "," condition } ] ")" | "(" condition ")"
//! ```
//!
//! The tree is an arena in which parts stand before the whole, so that whoever reads it loops and
//! neither long nor deep formulas cost stack.

use super::Complaint;
use super::token::{self, Placed, Token, tokenize};
use super::units;
use std::ops::Range;

/// Parentheses, signs and exponents may nest this deep.
const DEPTH_LIMIT: usize = 200;

/// Index of a part in its [`Ast`].
pub(crate) type Part = usize;

/// An operator between two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
}

/// A comparison between two parts, turned so that it reads `<` or `<=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Less,
    LessEqual,
}

/// What a part of a formula is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Number(f64),
    Name(String),
    Velocity(String),
    Negate(Part),
    Binary(Operator, Part, Part),
    Compare(Comparison, Part, Part),
    Call {
        name: String,
        name_span: Range<usize>,
        arguments: Vec<Part>,
    },
}

/// A part of a formula and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Syntax {
    pub kind: Kind,
    pub span: Range<usize>,
}

/// A formula; parts refer to earlier parts, the last one is the whole.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Ast {
    pub parts: Vec<Syntax>,
}

impl Ast {
    /// The formula that is a number.
    pub(crate) fn number(value: f64, span: Range<usize>) -> Self {
        Self {
            parts: vec![Syntax {
                kind: Kind::Number(value),
                span,
            }],
        }
    }

    /// Turns the comparison that this is into 1 where it holds and 0 where it does not.
    pub(crate) fn make_condition(&mut self) -> Result<(), Complaint> {
        let last = self.parts.len().saturating_sub(1);
        let span = self.parts.get(last).map_or(0..0, |part| part.span.clone());
        if !matches!(
            self.parts.get(last).map(|part| &part.kind),
            Some(Kind::Compare(..))
        ) {
            return Err(Complaint::new(span, "this is not a comparison")
                .help("compare with `<`, `<=`, `>` or `>=`"));
        }
        let mut push = |kind| {
            self.parts.push(Syntax {
                kind,
                span: span.clone(),
            });
            self.parts.len() - 1
        };
        let arguments = vec![last, push(Kind::Number(1.0)), push(Kind::Number(0.0))];
        push(Kind::Call {
            name: "if".to_owned(),
            name_span: span.clone(),
            arguments,
        });
        Ok(())
    }

    /// As [`names`](Self::names), with the bytes where they stand.
    pub(crate) fn places_of_names(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        self.parts.iter().filter_map(|part| match &part.kind {
            Kind::Name(name) => Some((name.as_str(), part.span.clone())),
            _ => None,
        })
    }

    /// Names used as symbols (not as functions), in order of appearance.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match &part.kind {
            Kind::Name(name) => Some(name.as_str()),
            _ => None,
        })
    }
}

/// Reads `text`.
pub(crate) fn parse(text: &str) -> Result<Ast, Complaint> {
    read(text, false)
}

/// Reads `text`, in which names may have points, as those of columns do.
pub(crate) fn parse_columns(text: &str) -> Result<Ast, Complaint> {
    read(text, true)
}

fn read(text: &str, columns: bool) -> Result<Ast, Complaint> {
    let tokens = tokenize(text, columns)?;
    let mut parser = Parser {
        text,
        tokens,
        at: 0,
        depth: 0,
        parts: Vec::new(),
    };
    if parser.peek() == Token::End {
        return Err(Complaint::new(0..text.len(), "the formula is empty"));
    }
    parser.condition()?;
    match parser.peek() {
        Token::End => Ok(Ast {
            parts: parser.parts,
        }),
        Token::Close => Err(Complaint::new(parser.span(), "this `)` closes nothing")
            .help("remove it, or add the `(` it belongs to")),
        Token::Comma => Err(Complaint::new(
            parser.span(),
            "a `,` separates arguments of a function, and there is none",
        )
        .help("decimals are written with a point")),
        Token::Less | Token::LessEqual | Token::Greater | Token::GreaterEqual => {
            Err(Complaint::new(parser.span(), "comparisons cannot be chained").help(token::BOTH))
        }
        _ => Err(parser.missing_operator(0..parser.span().start)),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Placed>,
    at: usize,
    depth: usize,
    parts: Vec<Syntax>,
}

impl Parser<'_> {
    fn peek(&self) -> Token {
        self.tokens[self.at].token
    }

    fn span(&self) -> Range<usize> {
        self.tokens[self.at].span.clone()
    }

    /// Takes the current token; the end is never passed.
    fn take(&mut self) -> Range<usize> {
        let span = self.span();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        span
    }

    fn push(&mut self, kind: Kind, span: Range<usize>) -> Part {
        self.parts.push(Syntax { kind, span });
        self.parts.len() - 1
    }

    fn binary(&mut self, operator: Operator, a: Part, b: Part) -> Part {
        let span = self.parts[a].span.start..self.parts[b].span.end;
        self.push(Kind::Binary(operator, a, b), span)
    }

    fn condition(&mut self) -> Result<Part, Complaint> {
        let a = self.sum()?;
        let (comparison, swapped) = match self.peek() {
            Token::Less => (Comparison::Less, false),
            Token::LessEqual => (Comparison::LessEqual, false),
            Token::Greater => (Comparison::Less, true),
            Token::GreaterEqual => (Comparison::LessEqual, true),
            _ => return Ok(a),
        };
        self.take();
        let b = self.sum()?;
        let span = self.parts[a].span.start..self.parts[b].span.end;
        let (low, high) = if swapped { (b, a) } else { (a, b) };
        Ok(self.push(Kind::Compare(comparison, low, high), span))
    }

    fn sum(&mut self) -> Result<Part, Complaint> {
        let mut a = self.product()?;
        loop {
            let operator = match self.peek() {
                Token::Plus => Operator::Add,
                Token::Minus => Operator::Subtract,
                _ => return Ok(a),
            };
            self.take();
            let b = self.product()?;
            a = self.binary(operator, a, b);
        }
    }

    fn product(&mut self) -> Result<Part, Complaint> {
        let mut a = self.signed()?;
        loop {
            let operator = match self.peek() {
                Token::Star => Operator::Multiply,
                Token::Slash => Operator::Divide,
                _ => return Ok(a),
            };
            self.take();
            let b = self.signed()?;
            a = self.binary(operator, a, b);
        }
    }

    fn signed(&mut self) -> Result<Part, Complaint> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err(Complaint::new(
                self.span(),
                format!("the formula is nested deeper than {DEPTH_LIMIT} levels"),
            )
            .help("name a part of it as a parameter, or write it flatter"));
        }
        let part = match self.peek() {
            Token::Minus => {
                let sign = self.take();
                let a = self.signed()?;
                let span = sign.start..self.parts[a].span.end;
                self.push(Kind::Negate(a), span)
            }
            Token::Plus => {
                self.take();
                self.signed()?
            }
            _ => self.power()?,
        };
        self.depth -= 1;
        Ok(part)
    }

    fn power(&mut self) -> Result<Part, Complaint> {
        let a = self.primary()?;
        match self.peek() {
            Token::Caret => {
                self.take();
                let b = self.signed()?;
                Ok(self.binary(Operator::Power, a, b))
            }
            Token::Number(_) | Token::Name | Token::Velocity | Token::Open => {
                Err(self.missing_operator(self.parts[a].span.clone()))
            }
            _ => Ok(a),
        }
    }

    fn primary(&mut self) -> Result<Part, Complaint> {
        match self.peek() {
            Token::Number(value) => {
                let span = self.take();
                Ok(self.push(Kind::Number(value), span))
            }
            Token::Name => {
                let span = self.take();
                let name = self.text[span.clone()].to_owned();
                if self.peek() == Token::Open {
                    return self.call(name, span);
                }
                Ok(self.push(Kind::Name(name), span))
            }
            Token::Velocity => {
                let span = self.take();
                let name = self.text[span.start + 2..span.end].to_owned();
                Ok(self.push(Kind::Velocity(name), span))
            }
            Token::Open => {
                let open = self.take();
                let inner = self.condition()?;
                let close = self.close(&open)?;
                // The parentheses belong to what they enclose.
                self.parts[inner].span = open.start..close.end;
                Ok(inner)
            }
            _ => Err(self.missing_value()),
        }
    }

    fn call(&mut self, name: String, name_span: Range<usize>) -> Result<Part, Complaint> {
        let open = self.take();
        let mut arguments = Vec::new();
        if self.peek() != Token::Close {
            arguments.push(self.condition()?);
            while self.peek() == Token::Comma {
                self.take();
                arguments.push(self.condition()?);
            }
        }
        let close = self.close(&open)?;
        let span = name_span.start..close.end;
        Ok(self.push(
            Kind::Call {
                name,
                name_span,
                arguments,
            },
            span,
        ))
    }

    fn close(&mut self, open: &Range<usize>) -> Result<Range<usize>, Complaint> {
        match self.peek() {
            Token::Close => Ok(self.take()),
            Token::End | Token::Comma => {
                Err(Complaint::new(open.clone(), "this `(` is never closed")
                    .help("add the `)` it needs"))
            }
            Token::Less | Token::LessEqual | Token::Greater | Token::GreaterEqual => {
                Err(Complaint::new(self.span(), "comparisons cannot be chained").help(token::BOTH))
            }
            _ => Err(self.missing_operator(open.start..self.span().start)),
        }
    }

    /// A value follows a value, as in `2x`.
    fn missing_operator(&self, before: Range<usize>) -> Complaint {
        let (left, right) = (
            self.text[before.clone()].trim_end(),
            &self.text[self.span()],
        );
        if let Some(help) = token::combination(right) {
            let message = format!("conditions cannot be combined by `{right}`");
            return Complaint::new(self.span(), message).help(help);
        }
        let span = before.start..self.span().end;
        let more = if self.peek() == Token::Open {
            "…)"
        } else {
            ""
        };
        if let Some((unit, value)) = self.unit_behind(&before) {
            let name = &self.text[unit.clone()];
            let span = before.start..unit.end;
            return Complaint::new(
                span,
                format!("a unit, `{name}`, stands behind the number `{left}`"),
            )
            .help(format!(
                "numbers are in SI units, which are not written: `{value}`; where `{right}` is the name of a quantity, a product is written `{left}*{right}`"
            ));
        }
        Complaint::new(
            span,
            format!("there is no operator between `{left}` and `{right}`"),
        )
        .help(format!("a product is written `{left}*{right}{more}`"))
    }

    /// The unit that begins at the current token behind the number `before`, and the number in SI units as a formula.
    fn unit_behind(&self, before: &Range<usize>) -> Option<(Range<usize>, String)> {
        let number = self.at.checked_sub(1).map(|i| &self.tokens[i])?;
        if self.peek() != Token::Name || number.span.end != self.text[..before.end].trim_end().len()
        {
            return None;
        }
        let Token::Number(_) = number.token else {
            return None;
        };
        let mut value = self.text[number.span.clone()].to_owned();
        let mut at = self.at;
        let mut sign = "*";
        loop {
            let word = &self.tokens[at];
            let factor = units::factor(self.text.get(word.span.clone())?)?;
            let power = match (&self.tokens.get(at + 1)?.token, self.tokens.get(at + 2)) {
                (Token::Caret, Some(exponent)) if matches!(exponent.token, Token::Number(_)) => {
                    at += 2;
                    format!("^{}", &self.text[exponent.span.clone()])
                }
                _ => String::new(),
            };
            if factor.contains('/') && (sign == "/" || !power.is_empty()) {
                value.push_str(&format!("{sign}({factor}){power}"));
            } else if factor != "1" {
                value.push_str(&format!("{sign}{factor}{power}"));
            }
            let end = self.tokens[at].span.end;
            let next = &self.tokens.get(at + 1)?.token;
            let after = self.tokens.get(at + 2);
            let goes_on = after.is_some_and(|after| {
                let text = &self.text[after.span.clone()];
                after.token == Token::Name && units::factor(text).is_some()
            });
            sign = match next {
                Token::Star if goes_on => "*",
                Token::Slash if goes_on => "/",
                _ => return Some((self.span().start..end, value)),
            };
            at += 2;
        }
    }

    /// An operator, a comma, a parenthesis or the end stands where a value should.
    fn missing_value(&self) -> Complaint {
        let span = self.span();
        match self.peek() {
            Token::End => {
                let last = self
                    .at
                    .checked_sub(1)
                    .map_or(span.clone(), |i| self.tokens[i].span.clone());
                Complaint::new(
                    last.clone(),
                    format!("the formula ends after `{}`", &self.text[last]),
                )
                .help("a number, a name or `(` is missing")
            }
            _ => Complaint::new(
                span.clone(),
                format!(
                    "`{}` stands where a number, a name or `(` should",
                    &self.text[span]
                ),
            ),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    /// Fully parenthesised, to see what binds to what.
    fn shape(text: &str) -> String {
        let ast = parse(text).unwrap();
        let mut written: Vec<String> = Vec::new();
        for part in &ast.parts {
            let of = |i: &usize| written[*i].clone();
            let line = match &part.kind {
                Kind::Number(x) => format!("{x}"),
                Kind::Name(name) => name.clone(),
                Kind::Velocity(name) => format!("v.{name}"),
                Kind::Negate(a) => format!("(-{})", of(a)),
                Kind::Binary(operator, a, b) => {
                    let sign = match operator {
                        Operator::Add => '+',
                        Operator::Subtract => '-',
                        Operator::Multiply => '*',
                        Operator::Divide => '/',
                        Operator::Power => '^',
                    };
                    format!("({}{sign}{})", of(a), of(b))
                }
                Kind::Compare(Comparison::Less, a, b) => format!("({}<{})", of(a), of(b)),
                Kind::Compare(Comparison::LessEqual, a, b) => format!("({}<={})", of(a), of(b)),
                Kind::Call {
                    name, arguments, ..
                } => {
                    format!(
                        "{name}({})",
                        arguments.iter().map(of).collect::<Vec<_>>().join(",")
                    )
                }
            };
            written.push(line);
        }
        written.pop().unwrap()
    }

    #[test]
    fn precedence_is_that_of_mathematics() {
        for (text, expected) in [
            ("-x^2", "(-(x^2))"),
            ("2^-x", "(2^(-x))"),
            ("a^b^c", "(a^(b^c))"),
            ("a-b-c", "((a-b)-c)"),
            ("a/b/c*d", "(((a/b)/c)*d)"),
            ("a+b*c", "(a+(b*c))"),
            ("-a*b", "((-a)*b)"),
            ("a*-b", "(a*(-b))"),
            ("--a", "(-(-a))"),
            ("+a", "a"),
            ("2*(a+b)", "(2*(a+b))"),
            ("if(x > 0, a, b)", "if((0<x),a,b)"),
            ("if(x >= v.x, a, b)", "if((v.x<=x),a,b)"),
            ("f()", "f()"),
            ("f(a, g(b))", "f(a,g(b))"),
        ] {
            assert_eq!(shape(text), expected, "{text}");
        }
    }

    fn complaint(text: &str) -> Complaint {
        match parse(text) {
            Ok(ast) => panic!("`{text}` was accepted: {ast:?}"),
            Err(complaint) => complaint,
        }
    }

    #[test]
    fn products_without_a_sign_are_explained() {
        for (text, help) in [
            ("2x", "`2*x`"),
            ("2 x + 1", "`2*x`"),
            ("x y", "`x*y`"),
            ("2(x+1)", "`2*(…)`"),
            ("(a+b)(a-b)", "`(a+b)*(…)`"),
            ("1 + (a+b)c", "`(a+b)*c`"),
            ("2 v.x", "`2*v.x`"),
            ("x 2", "`x*2`"),
        ] {
            let found = complaint(text).help.unwrap();
            assert!(found.contains(help), "{text}: {found}");
        }
    }

    #[test]
    fn units_are_recognised() {
        for (text, unit, value) in [
            ("2 m", "`m`", "`2`"),
            ("80 deg", "`deg`", "`80*pi/180`"),
            ("5 kg", "`kg`", "`5`"),
            ("30mm", "`mm`", "`30*1e-3`"),
            ("9.81 m/s^2", "`m/s^2`", "`9.81`"),
            ("20 km/h", "`km/h`", "`20*1e3/3600`"),
            ("7.85 g/cm^3 + x", "`g/cm^3`", "`7.85*1e-3/1e-2^3`"),
            ("a + 210 GPa", "`GPa`", "`210*1e9`"),
            ("3 Nm/deg", "`Nm/deg`", "`3/(pi/180)`"),
            ("2 N*m/x", "`N*m`", "`2`"),
        ] {
            let found = complaint(text);
            assert!(found.message.contains(unit), "{text}: {}", found.message);
            let help = found.help.unwrap();
            assert!(help.contains(value), "{text}: {help}");
        }
    }

    #[test]
    fn parentheses_are_matched() {
        assert_eq!(complaint("(a + (b").span, 5..6);
        assert_eq!(complaint("sin(a").span, 3..4);
        assert_eq!(complaint("a + b)").span, 5..6);
        assert_eq!(complaint("(a, b)").span, 0..1);
    }

    #[test]
    fn fragments_say_what_is_missing() {
        assert!(complaint("").message.contains("empty"));
        assert!(complaint("  ").message.contains("empty"));
        assert_eq!(complaint("a +").span, 2..3);
        assert_eq!(complaint("a + * b").span, 4..5);
        assert!(complaint("a < b < c").message.contains("chained"));
        assert!(complaint("a, b").message.contains("separates"));
        assert!(complaint("f(a,)").message.contains("`)`"));
    }

    #[test]
    fn depth_is_limited_and_length_is_not() {
        let deep = format!("{}x{}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(complaint(&deep).message.contains("nested"));
        assert!(complaint(&"-".repeat(100_000)).message.contains("nested"));
        assert!(complaint(&"x^".repeat(100_000)).message.contains("nested"));
        let long = format!("x{}", " + x".repeat(100_000));
        assert_eq!(parse(&long).unwrap().parts.len(), 200_001);
    }
}
