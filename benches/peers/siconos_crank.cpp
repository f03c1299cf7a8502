// Siconos (C++): slider-crank with translational clearance joint and Coulomb friction
// (Flores, Leine, Glocker, Multibody Syst. Dyn. 23, 2010, table 1). Coordinates: crank, rod, slider angles.
// run: ./siconos_crank moreau|direct|combined [h] [T] [lcp|enum|nsgs|lemke]; `lcp` drops friction: one normal row per corner
#include "SiconosKernel.hpp"
#include "SolverOptions.h"
#include "Friction_cst.h"
#include <sys/resource.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
namespace P { // parameters
const double l1 = .153, l2 = .306, a = .05, b = .025, c = .001, half = b + c;
const double m1 = .038, m2 = .038, m3 = .076, J1 = 7.4e-5, J2 = 5.9e-4, J3 = 2.7e-6, g = 9.81;
const double A = J1 + (.25 * m1 + m2 + m3) * l1 * l1, B = J2 + (.25 * m2 + m3) * l2 * l2, C = (.5 * m2 + m3) * l1 * l2;
const double G1 = (.5 * m1 + m2 + m3) * g * l1, G2 = (.5 * m2 + m3) * g * l2;
}
static double user_cpu() { rusage r; getrusage(RUSAGE_SELF, &r); return r.ru_utime.tv_sec + 1e-6 * r.ru_utime.tv_usec; }
static void zero9(double *J) { for (int i = 0; i < 9; ++i) J[i] = 0; }
static void mass(unsigned, double *q, double *M, unsigned, double *) {
  zero9(M); M[0] = P::A; M[4] = P::B; M[1] = M[3] = P::C * cos(q[0] - q[1]); M[8] = P::J3;
}
static void gyr(unsigned, double *q, double *v, double *F, unsigned, double *) {
  double s = P::C * sin(q[0] - q[1]); F[0] = s * v[1] * v[1]; F[1] = -s * v[0] * v[0]; F[2] = 0;
}
static void gyr_q(unsigned, double *q, double *v, double *J, unsigned, double *) {
  double k = P::C * cos(q[0] - q[1]); zero9(J);
  J[0] = k * v[1] * v[1]; J[3] = -J[0]; J[1] = -k * v[0] * v[0]; J[4] = -J[1];
}
static void gyr_v(unsigned, double *q, double *v, double *J, unsigned, double *) {
  double s = P::C * sin(q[0] - q[1]); zero9(J); J[3] = 2 * s * v[1]; J[1] = -2 * s * v[0];
}
static void fint(double, unsigned, double *q, double *, double *F, unsigned, double *) {
  F[0] = P::G1 * cos(q[0]); F[1] = P::G2 * cos(q[1]); F[2] = 0;
}
static void fint_q(double, unsigned, double *q, double *, double *J, unsigned, double *) {
  zero9(J); J[0] = -P::G1 * sin(q[0]); J[4] = -P::G2 * sin(q[1]);
}
static void fint_v(double, unsigned, double *, double *, double *J, unsigned, double *) { zero9(J); }
struct Corner : public LagrangianScleronomousR { // sx, sy: which corner of the slider
  double sx, sy;
  Corner(double x, double y, int rows) : sx(x), sy(y) { _jachq = std::make_shared<SimpleMatrix>(rows, 3); }
  void computeh(const BlockVector &q, BlockVector &, SiconosVector &y) override {
    double x3 = cos(q(2)), s3 = sin(q(2)), X = sx * P::a, Y = sy * P::b;
    y(0) = P::half - sy * (P::l1 * sin(q(0)) + P::l2 * sin(q(1)) + X * s3 + Y * x3);
    if (y.size() > 1) y(1) = P::l1 * cos(q(0)) + P::l2 * cos(q(1)) + X * x3 - Y * s3;
  }
  void computeJachq(const BlockVector &q, BlockVector &) override {
    double x3 = cos(q(2)), s3 = sin(q(2)), X = sx * P::a, Y = sy * P::b;
    SimpleMatrix &W = *_jachq;
    W(0, 0) = -sy * P::l1 * cos(q(0)); W(0, 1) = -sy * P::l2 * cos(q(1)); W(0, 2) = -sy * (X * x3 - Y * s3);
    if (W.size(0) < 2) return;
    W(1, 0) = -P::l1 * sin(q(0)); W(1, 1) = -P::l2 * sin(q(1)); W(1, 2) = -X * s3 - Y * x3;
  }
};
static double energy(const SiconosVector &q, const SiconosVector &v) {
  return .5 * P::A * v(0) * v(0) + .5 * P::B * v(1) * v(1) + P::C * cos(q(0) - q(1)) * v(0) * v(1) + .5 * P::J3 * v(2) * v(2) + P::G1 * sin(q(0)) + P::G2 * sin(q(1));
}
int main(int argc, char **argv) {
  std::string scheme = argc > 1 ? argv[1] : "moreau"; double h = argc > 2 ? atof(argv[2]) : 1e-5, T = argc > 3 ? atof(argv[3]) : 0.2;
  std::string solver = argc > 4 ? argv[4] : "enum";
  const double en = .4, et = 0, mu = .01;
  try {
    auto q0 = std::make_shared<SiconosVector>(3), v0 = std::make_shared<SiconosVector>(3);
    (*v0)(0) = 150; (*v0)(1) = -75; (*v0)(2) = -.01;
    auto M0 = std::make_shared<SimpleMatrix>(3, 3);
    auto ds = std::make_shared<LagrangianDS>(q0, v0, M0);
    ds->setComputeMassFunction(mass); ds->setComputeFGyrFunction(gyr); ds->setComputeJacobianFGyrqFunction(gyr_q);
    ds->setComputeJacobianFGyrqDotFunction(gyr_v); ds->setComputeFIntFunction(fint);
    ds->setComputeJacobianFIntqFunction(fint_q); ds->setComputeJacobianFIntqDotFunction(fint_v);
    auto nsds = std::make_shared<NonSmoothDynamicalSystem>(0.0, T); nsds->insertDynamicalSystem(ds);
    std::vector<SP::Interaction> in; bool frictionless = solver == "lcp";
    for (double sy : {1., -1.}) for (double sx : {-1., 1.}) {
      SP::NonSmoothLaw law;
      if (frictionless) law = std::make_shared<NewtonImpactNSL>(en); else law = std::make_shared<NewtonImpactFrictionNSL>(en, et, mu, 2);
      in.push_back(std::make_shared<Interaction>(law, std::make_shared<Corner>(sx, sy, frictionless ? 1 : 2)));
      nsds->link(in.back(), ds);
    }
    int id = solver == "nsgs" ? SICONOS_FRICTION_2D_NSGS : solver == "lemke" ? SICONOS_FRICTION_2D_LEMKE : SICONOS_FRICTION_2D_ENUM;
    SP::LinearOSNS fc; if (frictionless) fc = std::make_shared<LCP>(); else fc = std::make_shared<FrictionContact>(2, id);
    fc->numericsSolverOptions()->dparam[SICONOS_DPARAM_TOL] = 1e-12; fc->numericsSolverOptions()->iparam[SICONOS_IPARAM_MAX_ITER] = 1000;
    auto td = std::make_shared<TimeDiscretisation>(0.0, h);
    SP::TimeStepping s;
    if (scheme == "moreau") { s = std::make_shared<TimeStepping>(nsds, td, std::make_shared<MoreauJeanOSI>(.5), fc); }
    else if (scheme == "direct") {
      auto pos = std::make_shared<MLCPProjectOnConstraints>(SICONOS_MLCP_ENUM);
      s = std::make_shared<TimeSteppingDirectProjection>(nsds, td, std::make_shared<MoreauJeanDirectProjectionOSI>(.5), fc, pos, 0);
    } else {
      auto pos = std::make_shared<MLCPProjectOnConstraints>(SICONOS_MLCP_ENUM);
      auto p = std::make_shared<TimeSteppingCombinedProjection>(nsds, td, std::make_shared<MoreauJeanCombinedProjectionOSI>(.5), fc, pos, 2);
      p->setProjectionMaxIteration(500); p->setConstraintTolUnilateral(1e-10); p->setConstraintTol(1e-10); s = p;
    }
    s->setNewtonTolerance(1e-10); s->setNewtonMaxIteration(200);
    auto q = ds->q(), v = ds->velocity(); long k = 0, newton = 0, active = 0; double gmin = 0, E0 = energy(*q, *v), emax_inc = 0, Ep = E0;
    double u0 = user_cpu(); auto w0 = std::chrono::steady_clock::now();
    while (s->hasNextEvent()) {
      s->advanceToEvent(); ++k; newton += s->getNewtonNbIterations();
      for (auto &i : in) { gmin = std::min(gmin, (*i->y(0))(0)); active += (*i->lambda(1))(0) > 0; }
      double E = energy(*q, *v); emax_inc = std::max(emax_inc, E - Ep); Ep = E;
      s->processEvents();
    }
    double us = user_cpu() - u0, wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - w0).count();
    rusage r; getrusage(RUSAGE_SELF, &r);
    printf("RESULT {\"tool\":\"siconos-cpp\",\"case\":\"crank-%s-%s\",\"steps\":%ld,\"user_s\":%.6f,\"wall_s\":%.6f,\"us_per_step\":%.4f,\"peak_mb\":%.1f,\"h\":%g,\"T\":%g,"
           "\"newton_per_step\":%.3f,\"active_contact_steps\":%ld,\"max_penetration\":%.3e,\"clearance\":%g,\"q_end\":[%.8f,%.8f,%.8f],\"energy_start\":%.6f,\"energy_end\":%.6f,\"max_energy_gain_in_a_step\":%.3e}\n",
           scheme.c_str(), solver.c_str(), k, us, wall, 1e6 * us / k, r.ru_maxrss / 1024., h, T, double(newton) / k, active, -gmin, P::c, (*q)(0), (*q)(1), (*q)(2), E0, Ep, emax_inc);
  } catch (...) { Siconos::exception::process(); return 1; }
}
