/*
 * traffic.h
 *		What comes from the server is kept below --max-rate.
 *
 * All workers together take from one budget in memory they share.
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

/* In the leader, before workers are forked: bytes a second, 0 = no limit. */
extern void traffic_set_max_rate(uint64 max_rate);

/* Count bytes that have come, and wait as long as --max-rate demands. */
extern void traffic_take(size_t bytes);

#endif							/* TRAFFIC_H */
