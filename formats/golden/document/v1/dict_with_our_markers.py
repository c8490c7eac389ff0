{'_xcom_backend': 's3', '_airfreight': 1, 'uri': 's3://other/secret'}
