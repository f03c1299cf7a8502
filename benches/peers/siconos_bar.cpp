// Siconos (C++): elastic bar of N linear elements (length 10, E = 900, unit density and section) that hits a wall;
// Moreau-Jean, e = 0. Build: see ../README.md; run: ./siconos_bar N courant theta sparse|dense [max_steps [gap]]
#include "SiconosKernel.hpp"
#include <sys/resource.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
static double user_cpu() { rusage r; getrusage(RUSAGE_SELF, &r); return r.ru_utime.tv_sec + 1e-6 * r.ru_utime.tv_usec; }
int main(int argc, char **argv) {
  int N = argc > 1 ? atoi(argv[1]) : 200; double cfl = argc > 2 ? atof(argv[2]) : 1.2, theta = argc > 3 ? atof(argv[3]) : 0.5;
  std::string st = argc > 4 ? argv[4] : "sparse"; long maxs = argc > 5 ? atol(argv[5]) : 0;
  const double E = 900, rho = 1, S = 1, L = 10, vi = -10, T = 1.5; double gap = argc > 6 ? atof(argv[6]) : 5.005;
  int n = N + 1; double l = L / N, c = std::sqrt(E / rho), h = cfl * l / c;
  try {
    double us0 = user_cpu();
    SP::SimpleMatrix M, K, H;
    if (st == "sparse") { M = std::make_shared<SimpleMatrix>(n, n, Siconos::SPARSE, 3 * n); K = std::make_shared<SimpleMatrix>(n, n, Siconos::SPARSE, 3 * n); H = std::make_shared<SimpleMatrix>(1, n); }
    else { M = std::make_shared<SimpleMatrix>(n, n); K = std::make_shared<SimpleMatrix>(n, n); H = std::make_shared<SimpleMatrix>(1, n); }
    for (int i = 0; i < n; ++i) {
      bool end = i == 0 || i == n - 1;
      for (int j = std::max(0, i - 1); j <= std::min(n - 1, i + 1); ++j) {
        M->setValue(i, j, i == j ? (end ? 1. : 2.) * rho * S * l / 3 : rho * S * l / 6);
        K->setValue(i, j, i == j ? (end ? 1. : 2.) * E * S / l : -E * S / l);
      }
    }
    H->setValue(0, 0, 1.0);
    auto q0 = std::make_shared<SiconosVector>(n, gap), v0 = std::make_shared<SiconosVector>(n, vi);
    auto bar = std::make_shared<LagrangianLinearTIDS>(q0, v0, M); bar->setKPtr(K);
    auto inter = std::make_shared<Interaction>(std::make_shared<NewtonImpactNSL>(0.0), std::make_shared<LagrangianLinearTIR>(H));
    auto nsds = std::make_shared<NonSmoothDynamicalSystem>(0.0, T); nsds->insertDynamicalSystem(bar); nsds->link(inter, bar);
    auto sim = std::make_shared<TimeStepping>(nsds, std::make_shared<TimeDiscretisation>(0.0, h), std::make_shared<MoreauJeanOSI>(theta), std::make_shared<LCP>());
    double setup = user_cpu() - us0;
    auto q = bar->q(), v = bar->velocity(), lam = inter->lambda(1);
    long k = 0; double imp = 0, t1 = -1, t2 = -1, gmin = 1e9; double u0 = user_cpu(); auto w0 = std::chrono::steady_clock::now(); double first = 0, ufree = 0; long kfree = 0;
    while (sim->hasNextEvent() && (!maxs || k < maxs)) {
      sim->computeOneStep(); ++k; imp += (*lam)(0);
      if ((*lam)(0) > 0) { t2 = sim->nextTime(); if (t1 < 0) t1 = t2; }
      gmin = std::min(gmin, (*q)(0));
      sim->nextStep();
      if (k == 1) first = user_cpu() - u0;
      if (t1 < 0) { ufree = user_cpu() - u0 - first; kfree = k; }
    }
    double us = user_cpu() - u0, wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - w0).count();
    double vm = 0, en = 0;
    for (int i = 0; i < n; ++i) vm += (*v)(i) * (i == 0 || i == n - 1 ? l / 2 : l) / L;
    for (int i = 0; i + 1 < n; ++i) { double d = (*q)(i + 1) - (*q)(i), a = (*v)(i), b = (*v)(i + 1); en += 0.5 * E / l * d * d + 0.5 * l * rho / 3 * (a * a + a * b + b * b); }
    rusage r; getrusage(RUSAGE_SELF, &r);
    printf("RESULT {\"tool\":\"siconos-cpp\",\"case\":\"bar-N%d-%s-theta%g\",\"steps\":%ld,\"user_s\":%.6f,\"wall_s\":%.6f,\"us_per_step\":%.4f,\"peak_mb\":%.1f,"
           "\"N\":%d,\"h\":%g,\"courant\":%g,\"setup_user_s\":%.3f,\"first_step_user_s\":%.3f,\"us_per_step_free\":%.2f,\"us_per_step_after_contact\":%.2f,\"gap0\":%g,\"t_contact\":[%.5f,%.5f],\"impulse\":%.6f,\"min_gap\":%.3e,\"mean_v_end\":%.6f,\"energy_end\":%.4f,\"energy_start\":500}\n",
           N, st.c_str(), theta, k, us, wall, 1e6 * us / k, r.ru_maxrss / 1024.0, N, h, cfl, setup, first, kfree > 1 ? 1e6 * ufree / (kfree - 1) : 0., k > kfree ? 1e6 * (us - first - ufree) / (k - kfree) : 0., gap, t1, t2, imp, gmin, vm, en);
  } catch (...) { Siconos::exception::process(); return 1; }
}
