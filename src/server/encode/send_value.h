/*-------------------------------------------------------------------------
 *
 * send_value.h
 *	  Encoders of the types whose binary form is nearly their stored form.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PARDUMP_SEND_VALUE_H
#define PARDUMP_SEND_VALUE_H

#include "encode/column_encoder.h"

/* An EncoderFamily. */
extern EncodeFunction value_sender(Oid type_function);

#endif							/* PARDUMP_SEND_VALUE_H */
