//! What stands in which order in each kind of problem.

use super::{ArchiveError, Problem, Reader, TextKind};
use saltus_complementarity::friction::{FrictionContact, GlobalFriction};
use saltus_complementarity::{BlockMatrix, SparseMatrix};
use saltus_linear::Dense;

/// Rows of the largest matrix that is kept dense.
const LARGEST_DENSE: usize = 20_000;

impl Reader<'_> {
    pub(super) fn problem(&mut self, kind: TextKind) -> Result<Problem, ArchiveError> {
        match kind {
            TextKind::Complementarity => self.complementarity(),
            TextKind::Mixed => self.mixed(),
            TextKind::Friction => self.friction(),
            TextKind::GlobalFriction => self.global(),
        }
    }

    fn complementarity(&mut self) -> Result<Problem, ArchiveError> {
        let n = self.count("the size of the problem")?;
        let matrix = self.matrix("M")?;
        self.square(&matrix, n, "M")?;
        let q = self.numbers(n, "q")?;
        let mut dense = self.dense_of(n, "M")?;
        for (i, j, v) in matrix.list {
            dense[(i, j)] += v;
        }
        super::super::mixed(self.path, 0, dense, q)
    }

    /// A square matrix of zeros, of a size that fits into memory.
    fn dense_of(&self, n: usize, what: &str) -> Result<Dense, ArchiveError> {
        if n > LARGEST_DENSE {
            let expected =
                format!("{what} of at most {LARGEST_DENSE} rows, which is kept as a dense matrix");
            return Err(self.wrong(&format!("{n} rows"), &expected));
        }
        Ok(Dense::zeros(n, n))
    }

    /// Two flags say whether the matrix follows as a whole, in four parts, or both; then `n` free unknowns and `m` pairs.
    /// The whole comes with the ends of its blocks of rows and whether each is complementarity; `A` (rows × n),
    /// `B` (m × m), `C` (rows × m), `D` (m × n), `a`, `b` make up `[A C; D B]` and `(a, b)`.
    fn mixed(&mut self) -> Result<Problem, ArchiveError> {
        let mut flag = |what: &str| {
            let value = self.count(what)?;
            if value > 1 {
                return Err(self.wrong(&value.to_string(), "a flag, 0 or 1"));
            }
            Ok(value == 1)
        };
        let whole = flag("whether the matrix follows as a whole (0 or 1)")?;
        let parts = flag("whether the matrix follows in four parts (0 or 1)")?;
        if !whole && !parts {
            return Err(self.wrong(
                "neither the matrix nor its parts",
                "one flag of the two to be 1",
            ));
        }
        let free = self.count("the number of free unknowns")?;
        let pairs = self.count("the number of complementary pairs")?;
        if whole {
            self.mixed_whole(free, pairs)
        } else {
            self.mixed_parts(free, pairs)
        }
    }

    fn mixed_whole(&mut self, free: usize, pairs: usize) -> Result<Problem, ArchiveError> {
        let n = free + pairs;
        let mut ends = vec![self.count("the first row of the first block")?];
        if ends[0] != 0 {
            return Err(self.wrong(&ends[0].to_string(), "0, the first row of the first block"));
        }
        while ends[ends.len() - 1] < n {
            let end = self.count("the end of a block of rows")?;
            if end <= ends[ends.len() - 1] || end > n {
                return Err(self.wrong(
                    &end.to_string(),
                    &format!("ascending ends of blocks up to {n}"),
                ));
            }
            ends.push(end);
        }
        // Unknowns in the order of the file: which of them are free.
        let mut is_free = Vec::new();
        for block in ends.windows(2) {
            let complementary =
                self.count("whether a block of rows is complementarity (0 or 1)")? != 0;
            is_free.extend((block[0]..block[1]).map(|_| !complementary));
        }
        if is_free.iter().filter(|f| **f).count() != free {
            let found = format!(
                "blocks with {} equality rows",
                is_free.iter().filter(|f| **f).count()
            );
            return Err(self.wrong(&found, &format!("{free}, the number of free unknowns")));
        }
        let matrix = self.matrix("M")?;
        if matrix.cols != n || matrix.rows < pairs {
            let found = format!("{} × {}", matrix.rows, matrix.cols);
            return Err(self.wrong(
                &found,
                &format!("M with {n} columns and at least {pairs} rows"),
            ));
        }
        let q = self.numbers(matrix.rows, "q")?;
        let equalities = matrix.rows - pairs;
        if equalities != free && is_free.iter().skip_while(|f| **f).any(|f| *f) {
            return Err(self.wrong("a rectangular matrix", "its equalities in one block, first"));
        }
        // Where rows and columns do not agree in number, the equalities come first.
        let row_is_free = |i: usize| {
            if equalities == free {
                is_free[i]
            } else {
                i < equalities
            }
        };
        let order = |length: usize, first: &dyn Fn(usize) -> bool| -> Vec<usize> {
            let mut place = vec![0; length];
            let chosen = (0..length)
                .filter(|&i| first(i))
                .chain((0..length).filter(|&i| !first(i)));
            for (k, i) in chosen.enumerate() {
                place[i] = k;
            }
            place
        };
        let rows = order(matrix.rows, &row_is_free);
        let cols = order(n, &|j| is_free[j]);
        let entries = matrix
            .list
            .iter()
            .map(|&(i, j, v)| (rows[i], cols[j], v))
            .collect();
        let mut right = vec![0.0; q.len()];
        for (i, v) in q.into_iter().enumerate() {
            right[rows[i]] = v;
        }
        self.squared(free, pairs, entries, right)
    }

    fn mixed_parts(&mut self, free: usize, pairs: usize) -> Result<Problem, ArchiveError> {
        let mut entries = Vec::new();
        for (name, rows, cols, row, col) in [
            ("A", free, free, 0, 0),
            ("B", pairs, pairs, free, free),
            ("C", free, pairs, 0, free),
            ("D", pairs, free, free, 0),
        ] {
            let values = self.numbers(rows.saturating_mul(cols), name)?;
            entries.extend(
                values
                    .into_iter()
                    .enumerate()
                    .map(|(k, v)| (row + k / cols, col + k % cols, v)),
            );
        }
        let mut q = self.numbers(free, "a")?;
        q.extend(self.numbers(pairs, "b")?);
        self.squared(free, pairs, entries, q)
    }

    /// Rows (equalities first) and columns (free unknowns first) as a square problem: equalities beyond the free unknowns
    /// get an unknown that does nothing, free unknowns beyond the equalities a row `0 = 0`.
    fn squared(
        &self,
        free: usize,
        pairs: usize,
        entries: Vec<(usize, usize, f64)>,
        q: Vec<f64>,
    ) -> Result<Problem, ArchiveError> {
        let equalities = q.len() - pairs;
        let leading = free.max(equalities);
        let mut matrix = self.dense_of(leading + pairs, "M")?;
        let mut right = vec![0.0; leading + pairs];
        let row = |i: usize| {
            if i < equalities {
                i
            } else {
                i - equalities + leading
            }
        };
        let col = |j: usize| if j < free { j } else { j - free + leading };
        for (i, j, v) in entries {
            matrix[(row(i), col(j))] += v;
        }
        for (i, v) in q.into_iter().enumerate() {
            right[row(i)] = v;
        }
        super::super::mixed(self.path, leading, matrix, right)
    }

    /// Dimension and number of contacts.
    fn header(&mut self) -> Result<(usize, usize), ArchiveError> {
        let dimension = self.count("the dimension of a contact")?;
        if !matches!(dimension, 2 | 3 | 5) {
            return Err(self.wrong(&dimension.to_string(), "2, 3 or 5 components per contact"));
        }
        Ok((dimension, self.count("the number of contacts")?))
    }

    fn friction(&mut self) -> Result<Problem, ArchiveError> {
        let (dimension, contacts) = self.header()?;
        let size = dimension * contacts;
        let w = self.matrix("W")?;
        self.square(&w, size, "W")?;
        let q = self.numbers(size, "q")?;
        let mu = self.numbers(contacts, "mu")?;
        let rolling = if dimension == 5 {
            self.numbers(contacts, "mu_r")?
        } else {
            Vec::new()
        };
        self.end()?;
        let w = BlockMatrix::from_triplets(dimension, contacts, w.list);
        FrictionContact::new(w, q, mu, rolling)
            .map(Problem::Friction)
            .map_err(|source| ArchiveError::Problem {
                path: self.path.into(),
                source,
            })
    }

    fn global(&mut self) -> Result<Problem, ArchiveError> {
        let (dimension, contacts) = self.header()?;
        let m = self.matrix("M")?;
        let n = m.rows;
        self.square(&m, n, "M")?;
        let h = self.matrix("H")?;
        if (h.rows, h.cols) != (n, dimension * contacts) {
            let found = format!("{} × {}", h.rows, h.cols);
            return Err(self.wrong(&found, &format!("H of {n} × {}", dimension * contacts)));
        }
        let f = self.numbers(n, "f")?;
        let w = self.numbers(dimension * contacts, "w")?;
        let mu = self.numbers(contacts, "mu")?;
        let rolling = if dimension == 5 {
            self.numbers(contacts, "mu_r")?
        } else {
            Vec::new()
        };
        self.end()?;
        let mass = SparseMatrix::from_triplets(n, n, &m.list).completed();
        let h = SparseMatrix::from_triplets(n, h.cols, &h.list);
        GlobalFriction::new(dimension, mass, h, f, w, mu, rolling)
            .map(Problem::Global)
            .map_err(|source| ArchiveError::Problem {
                path: self.path.into(),
                source,
            })
    }
}
