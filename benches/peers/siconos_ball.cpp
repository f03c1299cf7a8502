// Siconos (C++): ball dropped from 1 m; steps/s and error for each one-step integrator.
// build and run: see ../README.md; ./siconos_ball OSI h T e
// OSI: moreau | moreaug | schatzman | d1minus | d1minusvel | lsodar | newmark
#include "SiconosKernel.hpp"
#include <sys/resource.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

static double user_cpu() {
  rusage r; getrusage(RUSAGE_SELF, &r);
  return r.ru_utime.tv_sec + 1e-6 * r.ru_utime.tv_usec;
}
static double ball_exact(double t, double e) {
  const double g = 9.81, q0 = 1.0;
  double t1 = std::sqrt(2 * q0 / g), v = std::sqrt(2 * q0 * g);
  if (t <= t1) return q0 - 0.5 * g * t * t;
  double s0 = t1;
  for (int k = 0; k < 400; ++k) {
    v *= e; double d = 2 * v / g;
    if (t <= s0 + d) { double s = t - s0; return v * s - 0.5 * g * s * s; }
    s0 += d;
  }
  return 0.0;
}

int main(int argc, char **argv) {
  std::string osi = argc > 1 ? argv[1] : "moreau";
  double h = argc > 2 ? atof(argv[2]) : 1e-3, T = argc > 3 ? atof(argv[3]) : 10.0;
  double e = argc > 4 ? atof(argv[4]) : 0.9;
  try {
    auto q0 = std::make_shared<SiconosVector>(1); auto v0 = std::make_shared<SiconosVector>(1);
    (*q0)(0) = 1.0;
    auto M = std::make_shared<SimpleMatrix>(1, 1); (*M)(0, 0) = 1.0;
    auto ball = std::make_shared<LagrangianLinearTIDS>(q0, v0, M);
    auto w = std::make_shared<SiconosVector>(1); (*w)(0) = -9.81;
    ball->setFExtPtr(w);
    auto H = std::make_shared<SimpleMatrix>(1, 1); (*H)(0, 0) = 1.0;
    auto inter = std::make_shared<Interaction>(std::make_shared<NewtonImpactNSL>(e),
                                               std::make_shared<LagrangianLinearTIR>(H));
    auto nsds = std::make_shared<NonSmoothDynamicalSystem>(0.0, T);
    nsds->insertDynamicalSystem(ball); nsds->link(inter, ball);
    auto td = std::make_shared<TimeDiscretisation>(0.0, h);
    SP::Simulation sim; bool ed = false; SP::TimeStepping ts_sim;
    if (osi == "moreau")
      sim = std::make_shared<TimeStepping>(nsds, td, std::make_shared<MoreauJeanOSI>(0.5), std::make_shared<LCP>());
    else if (osi == "schatzman")
      sim = std::make_shared<TimeStepping>(nsds, td, std::make_shared<SchatzmanPaoliOSI>(0.5), std::make_shared<LCP>());
    else if (osi == "d1minus" || osi == "d1minusvel") {
      auto o = std::make_shared<D1MinusLinearOSI>(
          osi == "d1minus" ? D1MinusLinearOSI::halfexplicit_acceleration_level
                           : D1MinusLinearOSI::halfexplicit_velocity_level);
      sim = std::make_shared<TimeSteppingD1Minus>(nsds, td, 2);
      sim->insertIntegrator(o);
      sim->insertNonSmoothProblem(std::make_shared<LCP>(), SICONOS_OSNSP_TS_VELOCITY);
      sim->insertNonSmoothProblem(std::make_shared<LCP>(), SICONOS_OSNSP_TS_VELOCITY + 1);
    } else if (osi == "lsodar" || osi == "newmark") {
      ed = true;
      auto s = std::make_shared<EventDriven>(nsds, td);
      if (osi == "lsodar") s->insertIntegrator(std::make_shared<LsodarOSI>());
      else s->insertIntegrator(std::make_shared<NewMarkAlphaOSI>(0.9, true));
      s->insertNonSmoothProblem(std::make_shared<LCP>(), SICONOS_OSNSP_ED_IMPACT);
      s->insertNonSmoothProblem(std::make_shared<LCP>(), SICONOS_OSNSP_ED_SMOOTH_ACC);
      if (osi == "newmark") s->insertNonSmoothProblem(std::make_shared<LCP>(), SICONOS_OSNSP_ED_SMOOTH_POS);
      sim = s;
    } else { fprintf(stderr, "unknown osi\n"); return 2; }
    ts_sim = std::dynamic_pointer_cast<TimeStepping>(sim);
    auto q = ball->q();
    size_t cap = 4 * size_t(T / h) + 1000;
    std::vector<double> ts, qs; ts.reserve(cap); qs.reserve(cap);
    double u0 = user_cpu(); auto w0 = std::chrono::steady_clock::now();
    while (sim->hasNextEvent()) {
      if (ed) { sim->advanceToEvent(); sim->processEvents(); ts.push_back(sim->startingTime()); }
      else if (osi == "moreau" || osi == "schatzman") { ts_sim->computeOneStep(); ts.push_back(sim->nextTime()); ts_sim->nextStep(); }
      else { sim->advanceToEvent(); ts.push_back(sim->nextTime()); sim->processEvents(); }
      qs.push_back((*q)(0));
      if (ts.size() > cap) { fprintf(stderr, "more events than expected\n"); break; }
    }
    double us = user_cpu() - u0;
    double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - w0).count();
    double mn = 1e9, err = 0; size_t k = 0;
    for (size_t i = 0; i < ts.size(); ++i) {
      if (qs[i] < mn) mn = qs[i];
      if (ts[i] < 8.0) { err += std::fabs(qs[i] - ball_exact(ts[i], e)); ++k; }
    }
    rusage r; getrusage(RUSAGE_SELF, &r);
    printf("RESULT {\"tool\":\"siconos-cpp\",\"case\":\"ball-%s\",\"steps\":%zu,\"user_s\":%.6f,\"wall_s\":%.6f,"
           "\"us_per_step\":%.4f,\"peak_mb\":%.1f,\"h\":%g,\"T\":%g,\"final_q\":%.3e,\"min_q\":%.3e,\"mean_abs_err_0_8\":%.3e}\n",
           osi.c_str(), ts.size(), us, wall, 1e6 * us / ts.size(), r.ru_maxrss / 1024.0, h, T, qs.back(), mn, err / k);
  } catch (...) { Siconos::exception::process(); return 1; }
}
