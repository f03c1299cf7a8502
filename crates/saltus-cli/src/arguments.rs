//! What the command line understands.

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use saltus_integrators::Scheme;
use saltus_model::Override;
use saltus_problems::batch::Start;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// Simulates nonsmooth mechanical systems: impacts, unilateral and bilateral constraints.
#[derive(Debug, Parser)]
#[command(name = "saltus", version, about, arg_required_else_help = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    the result could not be written to its end
  2    the input is wrong, nothing was run
  3    a step failed, what was computed is on disk
  70   a fault of the program itself, please report it
  130  ended by Ctrl-C or SIGTERM, what was computed is on disk";

const RUN_EXAMPLES: &str = "\
Examples:
  saltus run cases/bouncing-ball/model.toml --report
  saltus run model.toml --step 1e-4 --until 2 --out results/fine
  saltus run model.toml --set parameters.m=2 --out 'out/m={parameters.m}'
  saltus run model.toml --set parameters.m=2 --set system.unilateral.floor.restitution=0.5
  saltus run model.toml --archive-failures --out result
  saltus run model.toml --resume result/failed-step-7.checkpoint.json --out again
  saltus run --resume out/model --until 20
  saltus run model.toml --scheme moreau-jean --set simulation.scheme.theta=0.7 --format npz --every 10

The result is a directory with trajectory.csv, summary.json and what else was asked for. Where it already
holds a result of the same model, that is replaced.";

const CHECK_EXAMPLES: &str = "\
Examples:
  saltus check cases/bouncing-ball/model.toml
  saltus check model.yaml --set parameters.m=2 --scheme moreau-jean";

const MODES_EXAMPLES: &str = "\
Examples:
  saltus modes model.toml
  saltus modes model.toml --count 20 --out out/modes
  saltus modes model.toml --set initial.equilibrium=true

The model is linearised at rest in its initial state, which is the static equilibrium where the model asks for that.
With --out the directory has modes.csv, shapes.csv (one column per mode) and, of flexible parts, shapes.pvd for
ParaView, whose times are the numbers of the modes.";

const SOLVE_EXAMPLES: &str = "\
Examples:
  saltus solve problem.hdf5
  saltus solve problem.dat --solver all --tol 1e-10 --out solution.json
  saltus solve problem.hdf5 --start guess:1
  saltus solve folder/ --solver all --profile out/profile

Reads FCLIB's HDF5 (local and global), Siconos' text formats (LCP, MLCP, friction) and the JSON that --convert
writes. Exit code 0 means settled: solved, or proven to have no solution; 3 means not settled.
Of a folder, 0 means that its problems were tabulated, whether they were settled or not; files that cannot be
read are listed and counted.";

const SWEEP_EXAMPLES: &str = "\
Examples:
  saltus sweep model.toml --set parameters.k=1:10:20 --set simulation.step=[1e-3,1e-4]
  saltus sweep model.toml --set parameters.k=1:10 --set parameters.e=0:1 --random 1000 --seed 7 --jobs 2
  saltus sweep model.toml --set parameters.k=1:10:20 --collect energy.final --collect max.q.y --out k

The result is a directory with runs.csv, a row per run: its number, the values of what varies, how it ended (end-reached,
condition, step-failed or refused), what is collected, and the reason where it did not reach its end. A sweep that was stopped goes on
by the same command. The table is the same for any number of jobs.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a model to begin with: commented, and ready to run
    Init(InitArguments),
    /// Simulate a model and write the result
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArguments),
    /// Run a model for many values and write one table of what came out
    #[command(after_help = SWEEP_EXAMPLES)]
    Sweep(SweepArguments),
    /// Check a model file and say everything that is wrong with it
    #[command(after_help = CHECK_EXAMPLES)]
    Check(ModelArguments),
    /// Find eigenfrequencies and mode shapes of a model about its start
    #[command(after_help = MODES_EXAMPLES)]
    Modes(ModesArguments),
    /// Solve complementarity and friction problems from files
    #[command(after_help = SOLVE_EXAMPLES)]
    Solve(SolveArguments),
    /// List the schemes and what they can do, or the options of one
    Schemes(SchemesArguments),
    /// Print the JSON schema of model files, for editors and other tools
    Schema,
    /// Print the completions of a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArguments),
    /// Print the manual page of the program, or of a command, for `man`
    #[command(after_help = MAN_EXAMPLES)]
    Man(ManArguments),
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  saltus completions bash > ~/.local/share/bash-completion/completions/saltus
  saltus completions fish > ~/.config/fish/completions/saltus.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  saltus man run > saltus-run.1 && man ./saltus-run.1";

/// A shell.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// A command.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// The command; the program itself where not given
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
}

/// A model to begin with.
#[derive(Debug, Args)]
pub struct InitArguments {
    /// What the model is about
    #[arg(value_name = "TEMPLATE")]
    pub template: Template,

    /// The file that is written, TEMPLATE.toml where not given; one that exists is left alone
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// The models to begin with.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Template {
    /// A pendulum that hits a wall: formulas of energies
    Pendulum,
    /// A clamped beam under weight and force: flexible parts
    Beam,
    /// A block that bounces, slides and sticks: contact with friction
    Contact,
}

/// A scheme, or all of them.
#[derive(Debug, Args)]
pub struct SchemesArguments {
    /// The scheme whose options are shown
    #[arg(value_name = "NAME", value_parser = scheme_names())]
    pub name: Option<String>,
}

fn scheme_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Scheme::ALL.iter().map(|info| info.name))
}

/// A problem or a folder of problems, and how it is solved.
#[derive(Debug, Args)]
pub struct SolveArguments {
    /// A problem file, or a folder of them
    #[arg(value_name = "PROBLEM")]
    pub problem: PathBuf,

    /// Name of the solver, auto where not given; `all` tries every one for that kind of problem. An unknown name lists them
    #[arg(long, value_name = "NAME")]
    pub solver: Option<String>,

    /// Tolerance: bound on the residual without a unit, eta of friction, the miss of each row of complementarity; between 0
    /// and 1
    #[arg(
        long,
        value_name = "T",
        default_value = "1e-8",
        allow_hyphen_values = true,
        value_parser = number
    )]
    pub tol: f64,

    /// Largest number of iterations of each solver. With 0 only the start is judged, and what
    /// needs no iteration is tried
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_000_000,
        allow_hyphen_values = true,
        value_parser = whole
    )]
    pub max_iterations: u64,

    /// Largest number of counted floating-point operations of a friction solver
    #[arg(
        long,
        value_name = "FLOPS",
        default_value = "1e10",
        allow_hyphen_values = true,
        value_parser = number
    )]
    pub max_work: f64,

    /// Where to start: zero, solution, or guess:N for the N-th guess stored in the file, counted from 1
    #[arg(long, value_name = "POINT", default_value_t)]
    pub start: Start,

    /// Number of threads that share the problems of a folder; the answers are the same for any number, times are not
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        allow_hyphen_values = true,
        value_parser = at_least_one
    )]
    pub threads: NonZeroUsize,

    /// Return the reaction of least norm where reactions are not unique, and of a complementarity problem with a positive
    /// semidefinite matrix the solution of least norm; by each solver that is asked for
    #[arg(long)]
    pub canonical: bool,

    /// Write the solutions to this JSON file; under a name ending in .hdf5 or .h5 the problem with its best solution, as FCLIB
    /// (friction only). Folders that are missing are made
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Write the problem itself: as FCLIB under a name ending in .hdf5 or .h5, in Siconos' text format under one ending in
    /// .dat, as JSON otherwise. It is solved, too, only if --solver, --start, --canonical or --out is given
    #[arg(long, value_name = "FILE")]
    pub convert: Option<PathBuf>,

    /// Write the performance profile of a folder to STEM.svg, STEM.html and STEM.csv (one for complementarity and one for
    /// friction where there are both), every run to STEM-runs.csv and STEM-runs.md. Folders that are missing are made
    #[arg(long, value_name = "STEM")]
    pub profile: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse().ok().filter(|s: &f64| *s > 0.0);
    let duration = number.and_then(|s| Duration::try_from_secs_f64(s).ok());
    duration.ok_or_else(|| "expected a number of seconds above 0, such as 60".to_owned())
}

fn whole(text: &str) -> Result<u64, String> {
    let refused = |_| "expected a whole number that is not negative".to_owned();
    text.parse().map_err(refused)
}

fn at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    let refused = |_| "expected a whole number, at least 1".to_owned();
    text.parse().map_err(refused)
}

fn number(text: &str) -> Result<f64, String> {
    let refused = |_| "expected a number, such as 0.01 or 1e-8".to_owned();
    text.parse().map_err(refused)
}

/// A model file, what changes it, and what is written.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// The model file (.toml, .yaml, .yml or .json); with --resume DIR that of the run that was stopped, where not given
    #[arg(value_name = "MODEL", required_unless_present = "resume")]
    pub model: Option<PathBuf>,

    #[command(flatten)]
    pub changes: Changes,

    /// Directory of the result; out/NAME where not given, NAME being the name of the model file, or of its
    /// folder if the file is called model. A path of the model in braces stands for its value: out/k={parameters.k}
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Format of the trajectory: csv (where none is asked for), npz or hdf5; and vtk, for flexible parts, beside them;
    /// may be repeated or separated by commas. Without csv a run cannot be resumed
    #[arg(long, short, value_name = "FORMAT", value_delimiter = ',')]
    pub format: Vec<String>,

    /// Write every N-th step only; steps with impacts are always written
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub every: Option<String>,

    /// Write report.html too: plots and the certificate, in one page
    #[arg(long)]
    pub report: bool,

    /// Print nothing but errors
    #[arg(long, short)]
    pub quiet: bool,

    /// Print the summary of the run as JSON, summary.json with the `directory` it is in, and nothing else
    #[arg(long)]
    pub json: bool,

    /// Keep what is needed to look at a step that fails: its contact problem as failed-step-N.json, for
    /// `saltus solve`, and the state before it as failed-step-N.checkpoint.json, for --resume
    #[arg(long)]
    pub archive_failures: bool,

    /// Go on with the result in a directory whose run was stopped, failed or has ended, to a later --until: all files are
    /// appended to, as if there had been no stop. MODEL and flags are those of that run where not given. With a checkpoint
    /// file of the same model and scheme: begin a result of its own there instead of at the initial state
    #[arg(long, value_name = "DIR|FILE")]
    pub resume: Option<PathBuf>,

    /// Write a checkpoint for --resume every so many seconds too, for runs that may be killed; at its end, by Ctrl-C and
    /// SIGTERM too, a run always writes one
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true, value_parser = seconds)]
    pub checkpoint_every: Option<Duration>,

    /// With --resume: go on although the model or the options of the scheme are not those of the checkpoint. Another step
    /// or tolerance needs no leave
    #[arg(long, requires = "resume")]
    pub allow_changes: bool,

    /// Replace the result of another model in the directory
    #[arg(long)]
    pub force: bool,
}

/// A model file, and which modes of it.
#[derive(Debug, Args)]
pub struct ModesArguments {
    #[command(flatten)]
    pub model: ModelArguments,

    /// Number of modes, from the lowest on
    #[arg(long, value_name = "N", default_value = "10", value_parser = at_least_one)]
    pub count: NonZeroUsize,

    /// Directory of modes.csv, shapes.csv and, of flexible parts, shapes.pvd; made where it is missing
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// A model file and what changes it.
#[derive(Debug, Args)]
pub struct ModelArguments {
    /// The model file (.toml, .yaml, .yml or .json)
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,

    #[command(flatten)]
    pub changes: Changes,
}

/// A model file, the values that it is run for, and what is collected.
#[derive(Debug, Args)]
pub struct SweepArguments {
    /// The model file (.toml, .yaml, .yml or .json)
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,

    /// What varies: PATH=a:b:n for n values from a to b, PATH=[x,y] for those, PATH={..},{..} for tables, and PATH=VALUE for
    /// one in all runs, texts with quotes or without; several give every combination, the last one fastest
    #[arg(long, value_name = "PATH=VALUES", allow_hyphen_values = true)]
    pub set: Vec<String>,

    /// The scheme of all runs, instead of the one in the model (see `saltus schemes`)
    #[arg(long, value_name = "NAME")]
    pub scheme: Option<String>,

    /// Time step of all runs in seconds, a number or a formula of parameters
    #[arg(long, value_name = "H", allow_hyphen_values = true)]
    pub step: Option<String>,

    /// Time at which all runs end, in seconds
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub until: Option<String>,

    /// Instead of every combination N runs with values drawn uniformly, from a to b or out of the list
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub random: Option<NonZeroUsize>,

    /// What the random values begin with: the same seed draws the same values
    #[arg(long, value_name = "S", default_value_t = 0, requires = "random")]
    pub seed: u64,

    /// Number of runs at a time; as many as there are processors where not given
    #[arg(long, short, value_name = "J", value_parser = at_least_one)]
    pub jobs: Option<NonZeroUsize>,

    /// A number that is collected of each run, instead of the last coordinates, certificate, energies and impacts: a column of
    /// trajectory.csv (its last value), max.COLUMN, min.COLUMN, or a path in summary.json such as events.impacts or
    /// certificate.penetration; a * stands for any text, as in counts.*; may be repeated
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub collect: Vec<String>,

    /// Directory of the result; out/NAME-sweep where not given
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Another format of the table beside csv, of its numbers: npz or hdf5; may be repeated or separated by commas
    #[arg(long, short, value_name = "FORMAT", value_delimiter = ',')]
    pub format: Vec<String>,

    /// Print nothing but errors
    #[arg(long, short)]
    pub quiet: bool,

    /// Replace another sweep in the directory
    #[arg(long)]
    pub force: bool,
}

impl SweepArguments {
    /// What changes the model in all runs.
    pub fn changes(&self) -> Changes {
        Changes {
            scheme: self.scheme.clone(),
            step: self.step.clone(),
            until: self.until.clone(),
            set: Vec::new(),
        }
    }
}

/// What changes a model.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default)]
pub struct Changes {
    /// The scheme, instead of the one in the model (see `saltus schemes`)
    #[arg(long, value_name = "NAME")]
    pub scheme: Option<String>,

    /// Time step in seconds, a number or a formula of parameters
    #[arg(long, value_name = "H", allow_hyphen_values = true)]
    pub step: Option<String>,

    /// Time at which the simulation ends, in seconds
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub until: Option<String>,

    /// Replace a value of the model, e.g. parameters.m=2, system.unilateral.floor.restitution=0.5,
    /// simulation.scheme.theta=0.7; may be repeated, and wins over --scheme, --step and the other flags
    #[arg(long, value_name = "PATH=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,
}

impl Changes {
    /// The changes, in the order they are made: named flags first, so that `--set` has the last word.
    pub fn overrides(&self) -> Vec<Override> {
        let mut overrides = Vec::new();
        let mut flag = |flag: &str, path: &'static str, value: &Option<String>| {
            overrides.extend(
                value
                    .as_ref()
                    .map(|value| Override::flag(flag, path, value)),
            );
        };
        flag("--scheme", "simulation.scheme", &self.scheme);
        flag("--step", "simulation.step", &self.step);
        flag("--until", "simulation.until", &self.until);
        overrides.extend(self.set.iter().map(Override::set));
        overrides
    }
}
